# SPDX-License-Identifier: MIT
"""Small programs with one cause each: the report names this cause, and no other."""

import json
import os
import re
import subprocess
import unittest

import tap
from recorded_run import CLI, SIM_PYTHON, RecordedRun, sim_python

SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "causes")

# Each text claims a cause. A test names the claims that are true of its program. The report must not make the others.
CLAIMS = (
    "no_grad",
    "reference cycle",
    "the graph that made",
    "with their graph",
    "with its graph",
    "never freed",
    "optimizer state",
    "optimizer's step",
    "torch.cat",
    "checkpointed",
    "recurrent network",
    "the loss is kept",
    "pinned host memory",
    "modules are created",
    "backward pass and kept",
    "without fragmentation",
    "private pools of CUDA graphs",
    "growing since",
    "The growing lines held",
)


def record(script, kind, **environment):
    command, libraries = sim_python(os.path.join(SCRIPTS, script + ".py"), kind)
    run = RecordedRun(command, None, {"SIMCUDA_DEVICES": "1", **environment}, libraries=libraries)
    path = max(run.files, key=os.path.getsize)
    return path, run.out


def output_of(*arguments):
    done = subprocess.run([CLI, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return re.sub(r"\s+", " ", done.stdout)


class Case(unittest.TestCase):
    def check_text(self, text, *true):
        text = " ".join(text.split())
        for claim in CLAIMS:
            if claim in true:
                self.assertIn(claim, text)
            else:
                self.assertNotIn(claim, text)
        for words in true:
            self.assertIn(words, text)

    def printed(self, script, kind, *true, **environment):
        """Checks that the output of `leaks` makes the claims in `true` and no others. Returns its findings."""
        path, _out = record(script, kind, **environment)
        text = output_of("leaks", path)
        self.check_text(text[text.index("Leaks: ") :], *true)
        return json.loads(output_of("leaks", "--json", path))["leaks"]

    def categories(self, found):
        return sorted({leak["category"] for leak in found})


@unittest.skipUnless(SIM_PYTHON, "needs PyTorch on the simulated device: run scripts/test")
class Evaluation(Case):
    def test_outputs_with_their_graph_get_the_advice_to_use_no_grad(self):
        found = self.printed("evaluation_results", "graph", "no_grad", "with their graph")
        self.assertEqual(self.categories(found), ["activations", "inputs"])

    def test_outputs_under_no_grad_get_no_advice_to_use_it(self):
        for kind in "no_grad", "decorated", "inference", "detached":
            with self.subTest(kind):
                (leak,) = self.printed("evaluation_results", kind, "results of a model are kept")
                self.assertEqual(leak["bytes_per_step"], 64 * 64 * 4)

    def test_outputs_that_hooks_keep_are_no_graph(self):
        self.printed("evaluation_results", "hooks", "a hook")

    def test_inputs_alone_are_inputs(self):
        (leak,) = self.printed("evaluation_results", "inputs", "look for a list or a cache of them")
        self.assertEqual(leak["category"], "inputs")

    def test_a_graph_without_evidence_is_not_claimed(self):
        self.printed("evaluation_results", "own_forward", "allocated in a module's own code")
        self.printed("evaluation_results", "tuples", "allocated in a module's own code")


@unittest.skipUnless(SIM_PYTHON, "needs PyTorch on the simulated device: run scripts/test")
class Losses(Case):
    def test_a_loss_behind_its_backward_pass_holds_no_graph(self):
        self.printed("kept_losses", "after_backward", "the loss is kept", "loss.item()")

    def test_a_loss_without_a_backward_pass_holds_its_graph(self):
        self.printed("kept_losses", "with_graph", "the loss is kept", "the graph that made")

    def test_a_detached_loss_holds_no_graph(self):
        self.printed("kept_losses", "detached", "the loss is kept")
        self.printed("kept_losses", "evaluated", "the loss is kept")
        self.printed("kept_losses", "vectors", "the loss is kept", "on the CPU")


@unittest.skipUnless(SIM_PYTHON, "needs PyTorch on the simulated device: run scripts/test")
class Collections(Case):
    def test_a_list_that_is_emptied_is_no_reference_cycle(self):
        self.printed("late_drops", "lists", "results of a model are kept")


@unittest.skipUnless(SIM_PYTHON, "needs PyTorch on the simulated device: run scripts/test")
class Closures(Case):
    def test_memory_of_a_closure_is_no_optimizer_state(self):
        for kind in "lbfgs", "adam", "lambda", "own_optimizer":
            with self.subTest(kind):
                found = self.printed("optimizer_closures", kind)
                self.assertEqual(len(found), 2)
                self.assertLessEqual(set(self.categories(found)), {"activations", "inputs"})

    def test_own_memory_of_optimizers_with_closures_is_their_state(self):
        sizes = {"adam": 2, "own_optimizer": 1}
        parameter_bytes = (256 * 256 + 256 + 256 + 1) * 4
        for kind, copies in sizes.items():
            with self.subTest(kind):
                path, _out = record("optimizer_closures", kind)
                (table,) = json.loads(output_of("report", "--json", "--by", "category", path))["tables"]
                state = sum(
                    row["max_live_bytes"] if "max_live_bytes" in row else row["total_bytes"]
                    for row in table["rows"]
                    if row["layer"] == "torch" and row["name"] == "optimizer state"
                )
                # PyTorch rounds each size up to 512 bytes. The step counts of Adam are on the CPU.
                self.assertAlmostEqual(state, copies * parameter_bytes, delta=copies * 4 * 512)

    def test_a_closure_that_keeps_nothing_leaks_nothing(self):
        self.assertEqual(self.printed("optimizer_closures", "healthy"), [])


@unittest.skipUnless(SIM_PYTHON, "needs PyTorch on the simulated device: run scripts/test")
class Others(Case):
    def test_each_cause_is_named(self):
        for kind, *true in (
            ("pinned", "pinned host memory"),
            ("parameters", "modules are created"),
            ("gradients", "backward pass and kept"),
            ("checkpoint", "checkpointed"),
            ("cat", "torch.cat"),
            ("norms", "small tensors"),
            ("products", "are kept from step to step"),
            ("hidden_detached", "recurrent network"),
        ):
            with self.subTest(kind):
                self.printed("other_kept_memory", kind, *true)

    def test_a_hidden_state_with_its_history_is_reported_with_the_graph(self):
        self.printed("other_kept_memory", "hidden", "recurrent network", "the graph that made")


@unittest.skipUnless(SIM_PYTHON, "needs PyTorch on the simulated device: run scripts/test")
class OutOfMemory(Case):
    def refused(self, kind, *true):
        path, _out = record("out_of_memory", kind, SIMCUDA_MEMORY="1000M")
        text = output_of("report", "--full", path)
        self.assertIn("Out of memory: 1 request failed", text)
        paragraph = text[text.index("Out of memory") :]
        self.check_text(paragraph[: re.search(r"Leaks: |A step on|Composition of", paragraph).start()], *true)
        return json.loads(output_of("report", "--json", path))["ooms"][0], paragraph

    def test_memory_in_the_pool_of_a_graph_is_not_what_would_have_fitted(self):
        for kind in "pool", "partly_pool":
            with self.subTest(kind):
                oom, _text = self.refused(kind, "private pools of CUDA graphs", "less than requested")
                self.assertIs(oom["would_fit"], False)
                self.assertAlmostEqual(oom["graph_cached_bytes"], 400 << 20, delta=2 << 20)
                self.assertLess(oom["usable_cached_bytes"], 4 << 20)

    def test_a_growing_line_is_named_first_when_the_device_is_full(self):
        _oom, text = self.refused("leak", "growing since", "The growing lines held", "without fragmentation")
        self.assertRegex(
            text,
            r"PyTorch's blocks held \d+ MiB: \d+ MiB by \S+ in make \(growing since step \d+\), "
            r"500 MiB by \S+ in make,",
        )

    def test_constant_memory_is_not_reported_as_growing(self):
        self.refused("constant", "less than requested")
        _oom, text = self.refused("one_line", "growing since", "The growing lines held", "without fragmentation")
        self.assertEqual(text.count("growing since"), 1)
        self.assertRegex(text, r"500 MiB by \S+ in make, 300 MiB by")

    def test_the_cache_of_pytorch_does_not_serve_other_allocators(self):
        oom, _text = self.refused("outside_pytorch", "which only PyTorch can use", "less than requested")
        self.assertEqual((oom["layer"], oom["usable_cached_bytes"], oom["would_fit"]), ("cuda", 0, False))


@unittest.skipUnless(SIM_PYTHON, "needs PyTorch on the simulated device: run scripts/test")
class Ends(Case):
    """All outputs take the end of the program's work as the end."""

    def test_all_parts_of_a_report_use_the_same_end(self):
        for kind in "freed", "killed":
            with self.subTest(kind):
                path, out = record("memory_at_exit", kind)
                truth = json.loads(out.splitlines()[-1])
                report = json.loads(output_of("report", "--json", "--by", "category", path))
                (layer,) = [row for row in report["devices"][0]["layers"] if row["layer"] == "torch"]
                (end,) = [row for row in report["segments"] if row["moment"] == "end"]
                lines = {line["name"]: line["bytes"] for line in report["ledger"][0]["lines"]}
                rows = [row for row in report["tables"][0]["rows"] if row["layer"] == "torch"]
                sites = [site for site in report["sites"] if site["layer"] == "torch"]
                printed = [
                    layer["live_bytes"],
                    layer["reported"]["allocated_bytes"],
                    end["allocated_bytes"],
                    lines["torch_live"],
                    sum(row["live_bytes"] for row in rows),
                    sum(site["live_bytes"] for site in sites),
                    sum(space["live_bytes"] for space in layer["spaces"]),
                ]
                self.assertEqual(printed, [truth["allocated"]] * len(printed))
                self.assertEqual(layer["reported"]["reserved_bytes"], truth["reserved"])
                for by in "step", "phase", "line", "owner":
                    table = json.loads(output_of("report", "--json", "--by", by, path))["tables"][0]
                    live = sum(row["live_bytes"] for row in table["rows"] if row["layer"] == "torch")
                    self.assertEqual(live, truth["allocated"], by)
                if kind == "freed":
                    self.assertLess(layer["left_bytes"], layer["live_bytes"])
                    self.assertIn("when the process ended", output_of("report", "--full", path))
                else:
                    self.assertEqual(layer["left_bytes"], layer["live_bytes"])
                    self.assertNotIn("when the process ended", output_of("report", "--full", path))
                self.assertEqual(sum(site["left_bytes"] for site in sites), layer["left_bytes"])

    def test_differences_and_baselines_use_the_same_end(self):
        freed, out = record("memory_at_exit", "freed")
        killed, _out = record("memory_at_exit", "killed")
        allocated = json.loads(out.splitlines()[-1])["allocated"]
        diff = json.loads(output_of("diff", "--json", freed, killed))
        (amounts,) = [row["live_bytes"] for row in diff["accounts"] if row["layer"] == "torch"]
        self.assertEqual((amounts["base"], amounts["new"]), (allocated, allocated))
        baseline = freed + ".baseline"
        output_of("check", "--baseline", baseline, "--update-baseline", freed)
        with open(baseline, encoding="utf-8") as file:
            self.assertIn(str(allocated), file.read())
        self.assertIn("passed GMT004 regression: torch", output_of("check", "--baseline", baseline, killed))


if __name__ == "__main__":
    tap.main()
