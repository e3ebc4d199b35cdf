# SPDX-License-Identifier: MIT
"""The GitHub action and the templates for GitLab and Jenkins: their steps run as the service runs them."""

import os
import re
import subprocess
import textwrap
import unittest

import recipes
import tap
from packages import PLAIN, debian_python
from recipes import MIB, check_train, read
from github_action import Action, defaults, steps


class Ci(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.installed = recipes.Installed(cls)
        # The environment of a project, which does not have gpumemtrace yet.
        cls.python = os.path.join(cls.installed.folder, "project")
        recipes.must(debian_python(), "-m", "venv", cls.python)

    def environment(self, **more):
        path = f"{self.python}/bin{os.pathsep}{PLAIN['PATH']}"
        return {**PLAIN, "PATH": path, "LD_LIBRARY_PATH": recipes.SIMCUDA, "PIP_NO_INDEX": "1", **more}

    def act(self, command, environment=None, folder=None, **inputs):
        folder = folder or self.installed.place()
        action = Action(read("action.yml"), folder, environment or self.environment())
        temporary = os.path.join(self.installed.place(), "runner")
        action.run(temporary, command=command, version=self.installed.wheel, **inputs)
        action.folder = folder
        return action

    # --- GitHub

    def test_the_action_records_a_healthy_command_and_passes(self):
        action = self.act("python3 train.py")
        self.assertEqual((action.code, action.outputs["verdict"]), (0, "passed"), action.log)
        (recording,) = action.outputs["recording"].splitlines()
        check_train(self, self.installed.report(recording))
        folder = os.path.join(os.path.realpath(action.folder), "gpu-memory")
        self.assertEqual(os.path.dirname(recording), folder)
        self.assertEqual(action.uploaded["path"], folder)
        self.assertEqual(action.uploaded["name"], "gpu-memory")
        self.assertIn("gpu-memory.xml", os.listdir(folder))
        self.assertEqual(action.outputs["sarif"], f"{folder}/gpu-memory.sarif")
        self.assertTrue(os.path.exists(action.outputs["sarif"]))
        self.assertIn("### GPU memory: passed", action.summary)

    def test_the_action_fails_for_a_leak_and_annotates_its_line(self):
        action = self.act("python3 train.py leak")
        self.assertEqual((action.code, action.outputs["verdict"]), (1, "failed"), action.log)
        self.assertRegex(action.log, r"::error .*train\.py")
        self.assertIsNotNone(action.uploaded)

    def test_a_command_that_fails_gives_its_code_and_is_judged_all_the_same(self):
        action = self.act("echo before\npython3 train.py leak fail\necho not-reached")
        self.assertEqual((action.code, action.outputs["verdict"]), (7, "failed"), action.log)
        self.assertIn("before\n", action.log)
        self.assertNotIn("not-reached", action.log)
        self.assertIsNotNone(action.uploaded)

    def test_limits_baseline_and_options_reach_check_and_run(self):
        folder = self.installed.place()
        with open(os.path.join(folder, "a limits"), "w", encoding="utf-8") as file:
            file.write("max-peak = 512KiB\n")
        action = self.act("python3 train.py", folder=folder, limits="a limits")
        self.assertEqual((action.code, action.outputs["verdict"]), (1, "failed"), action.log)
        self.assertIn("GMT003", action.log)

        action = self.act("python3 train.py", check_options="--max-peak=512KiB --strict")
        self.assertEqual((action.code, action.outputs["verdict"]), (1, "failed"), action.log)

        action = self.act("python3 train.py", baseline="no-such-file")
        self.assertEqual((action.code, action.outputs["verdict"]), (2, "error"), action.log)
        self.assertIn("no-such-file", action.log)

        action = self.act("python3 train.py", run_options="--stacks=none --depth=7", artifact="")
        self.assertEqual(action.code, 0, action.log)
        self.assertIsNone(action.uploaded)
        text = recipes.must(f"{self.installed.venv}/bin/gpumemtrace", "info", action.outputs["recording"])
        self.assertIn("stacks=none", text)

    def test_a_recording_that_strict_does_not_accept_is_not_judged(self):
        action = self.act("python3 train.py short", check_options="--strict")
        self.assertEqual((action.code, action.outputs["verdict"]), (4, "not-judged"), action.log)

    def test_a_command_without_cuda_is_an_error_that_says_so(self):
        action = self.act("true")
        self.assertEqual((action.code, action.outputs["verdict"]), (3, "error"), action.log)
        self.assertIn("::error title=gpumemtrace::nothing was recorded", action.log)
        self.assertEqual(action.outputs["recording"], "")

    def test_recordings_of_an_earlier_step_are_not_judged_again(self):
        first = self.act("python3 train.py")
        again = self.act("python3 train.py", folder=first.folder)
        self.assertEqual((again.code, again.outputs["verdict"]), (2, "error"), again.log)
        self.assertIn("choose another output-folder", again.log)
        other = self.act("python3 train.py", folder=first.folder, output_folder="other folder")
        self.assertEqual((other.code, other.outputs["verdict"]), (0, "passed"), other.log)

    def test_the_output_folder_may_have_any_name(self):
        action = self.act("RANK=1 python3 train.py", output_folder="a,b: 100%hot %p 'c'")
        self.assertEqual((action.code, action.outputs["verdict"]), (0, "passed"), action.log)
        folder = os.path.join(os.path.realpath(action.folder), "a,b: 100%hot %p 'c'")
        self.assertEqual(os.path.dirname(action.outputs["recording"]), folder)
        self.assertEqual(os.listdir(action.folder).count("train.py"), 1)
        self.assertEqual(len(os.listdir(action.folder)), 2)

    def test_each_process_of_the_command_has_a_recording(self):
        action = self.act("python3 train.py\nRANK=1 python3 train.py")
        paths = action.outputs["recording"].splitlines()
        self.assertEqual((action.code, len(paths)), (0, 2), action.log)
        self.assertEqual(sum(".r1." in path for path in paths), 1)

    def test_a_python_that_refuses_packages_gets_an_environment_of_its_own(self):
        # pip refuses outside of an environment, as it does in the Python of a distribution.
        environment = {**self.environment(PIP_REQUIRE_VIRTUALENV="1"), "PATH": PLAIN["PATH"]}
        action = self.act(f"{debian_python()} train.py", environment=environment)
        self.assertEqual((action.code, action.outputs["verdict"]), (0, "passed"), action.log)

    def test_inputs_never_become_text_of_a_script(self):
        for step in steps(read("action.yml")):
            self.assertNotIn("${{", step.run)
        action = self.act("""printf '%s\\n' "$(echo '"; exit 9; "')" && python3 train.py""")
        self.assertEqual(action.code, 0, action.log)

    def test_the_action_uses_no_action_of_third_parties(self):
        self.assertEqual([step.uses for step in steps(read("action.yml")) if step.uses], ["actions/upload-artifact@v4"])

    def test_the_page_names_each_input_and_output(self):
        page = read("docs", "ci.md")
        outputs = re.findall(r"steps\.record\.outputs\.([\w-]+) ", read("action.yml"))
        for name in (*defaults(read("action.yml")), "verdict", "recording", "sarif"):
            self.assertIn(f"`{name}`", page)
            self.assertTrue(name in outputs or name in defaults(read("action.yml")))

    # --- GitLab and Jenkins

    def shell(self, script, folder, **variables):
        return subprocess.run(
            ["bash", "-eo", "pipefail", "-c", script],
            cwd=folder,
            env={**self.environment(**variables), "GITHUB_ACTIONS": ""},
            capture_output=True,
            text=True,
            timeout=600,
        )

    def check_template(self, script, command, options, **variables):
        """Runs a template with a healthy command, a leak, a failing command and a limit."""
        for words, given, code in (
            ("", "", 0),
            (" leak", "", 1),
            (" fail", "", 7),
            ("", "--max-peak=512KiB", 1),
        ):
            folder = self.installed.place()
            done = self.shell(script, folder, **{**variables, command: f"python3 train.py{words}", options: given})
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
            names = os.listdir(os.path.join(folder, "gpu-memory"))
            self.assertIn("gpu-memory.xml", names)
            (recording,) = [name for name in names if name.endswith(".gmt.gz")]
            layer = recipes.layer_of(self.installed.report(f"{folder}/gpu-memory/{recording}"), "cuda")
            self.assertEqual(layer["peak_bytes"], (20 if words == " leak" else 1) * MIB)

    def test_the_template_for_gitlab_records_and_judges(self):
        text = read("integrations", "gitlab", "gpumemtrace.yml")
        variables = dict(re.findall(r"^    (GPUMEMTRACE_\w+): '?(.*?)'?(?: #.*)?$", text, re.M))
        self.assertEqual(variables["GPUMEMTRACE_PACKAGE"], "gpumemtrace")
        lines = []
        for key in ("before_script", "script"):
            block = re.search(rf"^  {key}:\n((?:    .*\n)+)", text, re.M)[1]
            for item in re.split(r"(?m)^    - ", block)[1:]:
                # `>-` joins the lines of an item.
                lines.append(" ".join(item.removeprefix(">-\n").split("\n")).strip())
        self.assertEqual(len(lines), 3)
        variables["GPUMEMTRACE_PACKAGE"] = self.installed.wheel
        self.check_template("\n".join(lines), "GPUMEMTRACE_COMMAND", "GPUMEMTRACE_CHECK", **variables)
        done = self.shell(variables["GPUMEMTRACE_COMMAND"], self.installed.place())
        self.assertEqual((done.returncode, done.stderr), (2, "set GPUMEMTRACE_COMMAND\n"))

    def test_the_pipeline_for_jenkins_records_and_judges(self):
        text = read("integrations", "jenkins", "Jenkinsfile")
        script = textwrap.dedent(re.search(r"sh '''\n(.*?)'''", text, re.S)[1])
        self.assertNotIn("\\\\", script)
        variables = dict(re.findall(r"^    (\w+) = '(.*?)'", text, re.M))
        self.assertEqual(set(variables), {"GPUMEMTRACE_PACKAGE", "COMMAND", "CHECK_OPTIONS"})
        variables["GPUMEMTRACE_PACKAGE"] = self.installed.wheel
        # Groovy removes a backslash at the end of a line, with the line break.
        self.check_template(script.replace("\\\n", ""), "COMMAND", "CHECK_OPTIONS", **variables)


if __name__ == "__main__":
    tap.main()
