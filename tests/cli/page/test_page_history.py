# SPDX-License-Identifier: MIT
"""report --html: the history of each layer equals `report --json` at each moment that is compared."""

import random

import cli
import write_recording as w
from definitions import Kind, Layer, MarkKind, MarkSource, Space
from compaction_checks import fold
from heap_story import serve
from page_checks import PageChecks, accounts_of
from recording import CUDA, MiB, Story

LINES = [f"/home/me/train.py:{number} in step{number % 7}" for number in range(1, 40)]
SPACES = ((Layer.TORCH, Space.DEVICE), (CUDA, Space.DEVICE), (CUDA, Space.PINNED), (Layer.IMPORTED, Space.IPC))


class Random(Story):
    """Random allocations and frees on two devices, in several layers, with phases."""

    def __init__(self, seed, phases=3):
        super().__init__()
        self.random, self.blocks = random.Random(seed), []
        self.phases = [f"phase {number}" for number in range(phases)]
        self.depth = 0
        self.choices = [self.random.sample(LINES, self.random.randrange(1, 5)) for _ in range(150)]

    def begin(self, name):
        self.stamp += 3
        self.marks.append(w.mark(self.stamp, MarkKind.PUSH, MarkSource.PROGRAM, name=self.name(name)))
        self.depth += 1

    def finish(self):
        self.stamp += 3
        self.marks.append(w.mark(self.stamp, MarkKind.POP, MarkSource.PROGRAM))
        self.depth -= 1

    def act(self):
        dice = self.random.random()
        self.stamp += self.random.choice((0, 1, 5, 1000, 20000))
        if self.phases and dice < 0.05 and self.depth < 3:
            self.begin(self.random.choice(self.phases))
        elif dice < 0.1 and self.depth:
            self.finish()
        elif dice < 0.55 or not self.blocks:
            layer, space = self.random.choice(SPACES)
            device = -1 if space == Space.PINNED else self.random.randrange(2)
            stack = self.random.choice(self.choices)
            size = self.random.choice((0, 1, 512, self.random.randrange(1, 64 * MiB)))
            address = self.alloc(size, *stack, layer=layer, space=space, device=device)
            self.blocks.append((address, layer, space, device))
        else:
            address, layer, space, device = self.blocks.pop(self.random.randrange(len(self.blocks)))
            self.free(address, space=space, device=device if layer == Layer.TORCH else -2)
        if dice > 0.99:
            self.event(Kind.ALLOC_FAILED, size_bytes=1 << 40, frames=self.stack(self.random.choice(LINES)), result=2)


def random_story(seed, events=1500, **settings):
    story = Random(seed, **settings)
    for _ in range(events):
        story.act()
    return story


class History(PageChecks):
    def test_random_events_of_all_layers_have_the_numbers_of_reports(self):
        # The last one has several events in each bucket.
        for seed, events in enumerate((1500, 1500, 1500, 60000)):
            with self.subTest(seed=seed):
                page = self.check_page(random_story(seed, events).write("random.gmt.gz"))
                self.assertEqual(page.devices(), [0, 1, -1])

    def test_synthetic_recordings_have_the_numbers_of_reports(self):
        for settings in {"events": 30000, "devices": 2}, {"events": 12000, "steps": 30, "threads": 3, "seed": 7}:
            with self.subTest(settings=settings):
                self.check_page(cli.make("synthetic.gmt.gz", **settings))

    def test_a_report_until_a_moment_has_the_history_until_then(self):
        path = random_story(9).write("until.gmt.gz")
        whole = self.page(path)
        until = whole.recordings[0]["duration_ns"] // 2
        page = self.check_page(path, options=(f"--until={until}",))
        self.assertEqual(page.recordings[0]["duration_ns"], until)

    def test_pools_of_the_program_are_a_layer(self):
        page = self.check_page(serve().write("heaps.gmt.gz"))
        self.assertIn("custom", [layer["layer"] for layer in page.device(0).header["layers"]])
        self.assertIn("custom", [layer["layer"] for layer in page.device(-1).header["layers"]])

    def test_a_compacted_recording_begins_with_one_bucket_for_what_was_compacted(self):
        for path in random_story(3).write("fold.gmt.gz"), cli.make("fold-2.gmt.gz", events=20000, steps=20):
            for kept in 0, 300:
                with self.subTest(path=path, kept=kept):
                    small = fold(path, cli.place("compacted.gmt.gz"), f"--keep-events={kept}")
                    report, page = cli.report(small), self.page(small)
                    layers = self.check_sums(page)
                    self.check_peaks(layers, report)
                    self.check_sites(page.recording(), report)
                    for layer in layers.values():
                        if len(layer.buckets) > 1:
                            self.assertGreater(layer.buckets[1].begin_ns, report["folded"]["until_ns"])
                    if kept:
                        largest = max(layers.items(), key=lambda item: len(item[1].buckets))
                        self.check_boundary(small, page, largest, len(largest[1].buckets) - 1)

    def test_a_report_that_ends_before_the_compaction_has_no_history_of_what_was_compacted(self):
        small = fold(random_story(4).write("early.gmt.gz"), cli.place("early-compacted.gmt.gz"), "--keep-events=200")
        until = cli.report(small)["folded"]["until_ns"] // 2
        page = self.page(small, options=(f"--until={until}",))
        self.check_peaks(self.check_sums(page), cli.report(small, f"--until={until}"))

    def test_buckets_are_merged_when_they_have_too_many_entries(self):
        path = cli.make("many.gmt.gz", events=700_000, sites=6000, live=60_000, depth=4, devices=1, level=1)
        page = self.page(path)
        layers = self.check_sums(page)
        self.check_peaks(layers, cli.report(path))
        entries = sum(len(bucket.entries) for layer in layers.values() for bucket in layer.buckets)
        self.assertTrue(100_000 < entries < 500_000, entries)
        packet = page.recording()
        self.assertEqual(len(packet["site.node"]), 4096)
        for device, layer in (0, layers[0, "torch"]), (-1, layers[-1, "cuda"]):
            self.check_boundary_total(path, layer, device)
        others = [sum(packet[f"site.{name}"]) for name in ("peak_bytes", "total_bytes", "alloc_count")]
        sites = cli.report(path)["sites"]
        self.assertEqual(others, [sum(site[key] for site in sites) for key in ("peak_bytes", "total_bytes", "allocs")])

    def check_boundary_total(self, path, layer, device):
        """Checks a boundary without the sites."""
        index = len(layer.buckets) // 2
        report = cli.report(path, f"--until={layer.buckets[index].begin_ns - 1}")
        (account,) = (
            account
            for number, account in accounts_of(report)
            if (number, account["layer"]) == (device, layer.header["layer"])
        )
        self.assertEqual(report["events"]["replayed"], layer.buckets[index].begin_event)
        self.assertEqual(layer.buckets[index - 1].end_bytes, account["left_bytes"])

    def test_each_phase_has_its_bytes_at_the_peak(self):
        path = random_story(5, events=3000).write("phases.gmt.gz")
        layers, report = self.check_sums(self.page(path)), cli.report(path)
        self.assertTrue(report["peaks"])
        for peak in report["peaks"]:
            layer = layers[-1 if peak["device"] is None else peak["device"], peak["layer"]]
            largest = max(layer.buckets, key=lambda bucket: bucket.max_bytes)
            names = layer.header["phase_names"]
            row = layer.column("phase.at_max")[largest.index * len(names) :][: len(names)]
            truth = {row["name"] or "": row["bytes"] for row in peak["by_phase"] if row["bytes"]}
            self.assertEqual({name: size for name, size in zip(names, row) if size}, truth)

    def test_many_names_of_phases_share_the_last_one(self):
        layers = self.check_sums(self.page(random_story(6, events=4000, phases=40).write("names.gmt.gz")))
        for layer in layers.values():
            self.assertEqual(len(layer.header["phase_names"]), 16)
            self.assertEqual((layer.header["phase_names"][0], layer.header["phase_names"][-1]), ("", "other phases"))

    def test_the_largest_blocks_have_their_times_and_sites(self):
        story = Story()
        first = story.alloc(3 * MiB, LINES[0], address=0x7000_0100)
        begin = story.stamp
        story.alloc(5 * MiB, LINES[1], address=0x9000_0000)
        story.free(first)
        page = self.page(story.write("blocks.gmt.gz"))
        packet, recording = page.device(0), page.recording()
        self.assertEqual(packet.header["blocks"]["kept"], 2)
        self.assertEqual(packet["block.bytes"], [3 * MiB, 5 * MiB])
        self.assertEqual(packet["block.address"], [0x7000_0100 >> 8, 0x9000_0000 >> 8])
        times = [packet["block.begin_ns"][0], packet["block.end_ns"][0], packet["block.begin_ns"][1]]
        self.assertEqual([time - times[0] for time in times], [0, story.stamp - begin, 10])
        self.assertEqual(packet["block.end_ns"][1], -1)
        self.assertEqual(packet["block.layer"], [0, 0])
        stacks = [[recording["site.node"][number]] for number in packet["block.site"]]
        self.assertEqual(len({tuple(stack) for stack in stacks}), 2)

    def test_a_size_that_javascript_cannot_represent_is_the_largest_that_it_can(self):
        story = Story()
        story.alloc(1 << 60, LINES[0])
        packet = self.page(story.write("huge.gmt.gz")).device(0)
        self.assertEqual((packet["block.bytes"], max(packet["0.max_bytes"])), ([1 << 53], 1 << 53))

    def test_only_the_largest_blocks_by_size_times_lifetime_are_kept(self):
        path = cli.make("large.gmt.gz", events=150_000, devices=1, live=2000)
        packet = self.page(path).device(0)
        blocks = packet.header["blocks"]
        self.assertEqual((blocks["kept"], len(packet["block.bytes"])), (30000, 30000))
        report = cli.report(path)
        self.assertEqual(blocks["total"], sum(layer["alloc_count"] for layer in report["devices"][0]["layers"]))
        self.assertTrue(0.7 < blocks["kept_bytes_ns"] / blocks["total_bytes_ns"] < 1, blocks)
        self.assertEqual(packet["block.begin_ns"], sorted(packet["block.begin_ns"]))

    def test_refused_requests_have_their_sites(self):
        story = Story()
        story.alloc(MiB, LINES[0])
        for number in range(1500):
            story.event(Kind.ALLOC_FAILED, size_bytes=number + 1, frames=story.stack(LINES[5]), result=2)
        page = self.page(story.write("refused.gmt.gz"))
        refusals = page.device(0).header["refusals"]
        self.assertEqual([row["bytes"] for row in refusals], [*range(1, 501), *range(1001, 1501)])
        site = {row["site"] for row in refusals}.pop()
        recording = page.recording()
        place = recording["node.place"][recording["site.node"][site]]
        self.assertEqual(recording["place.line"][place], 6)
        self.assertEqual({row["layer"] for row in refusals}, {"torch"})

    def test_what_pytorch_reserved_is_the_most_in_each_bucket(self):
        path = cli.make("reserved.gmt.gz", events=20000, devices=1)
        layer, (device,) = self.page(path).device(0).layer("torch"), cli.report(path)["devices"]
        (account,) = (row for row in device["layers"] if row["layer"] == "torch")
        self.assertEqual(max(layer.column("reserved_bytes")), account["reported"]["reserved_peak_bytes"])


if __name__ == "__main__":
    cli.main()
