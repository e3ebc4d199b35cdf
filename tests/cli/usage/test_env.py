# SPDX-License-Identifier: MIT
"""env: each form in which it prints the variables."""

import json
import os
import shlex
import subprocess
import unittest

import cli
from installed import install


class Env(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.program, cls.library = install("usual", "lib", "gpumemtrace")

    def setUp(self):
        self.folder = cli.place(self.id().split(".")[-1])
        os.makedirs(self.folder, exist_ok=True)

    def run_program(self, *arguments, program=None):
        return subprocess.run(
            [program or self.program, *arguments],
            capture_output=True,
            text=True,
            timeout=120,
            cwd=self.folder,
            env=cli.PLAIN,
        )

    def started_with(self, script, **variables):
        """Runs a line of the shell and returns the options with which the recorder started."""
        start_log = os.path.join(self.folder, "start_log")
        environment = {**cli.PLAIN, "FAKE_RECORDER": start_log, **variables}
        subprocess.run(["sh", "-c", script], check=True, env=environment, cwd=self.folder)
        with open(start_log, encoding="utf-8") as file:
            return file.read()

    def test_env_prints_assignments_for_env_and_for_eval(self):
        start_log = os.path.join(self.folder, "start_log")
        line = self.run_program("env", "--stacks=native").stdout
        self.assertEqual(line, f"LD_PRELOAD={self.library} GPUMEMTRACE_OPTIONS=stacks=native\n")
        subprocess.run(["env", *line.split(), "true"], check=True, env={**cli.PLAIN, "FAKE_RECORDER": start_log})
        with open(start_log, encoding="utf-8") as file:
            self.assertEqual(file.read(), "stacks=native")

        line = self.run_program("env", "--export", "--output=%p *.gz").stdout
        done = subprocess.run(
            ["sh", "-c", f"{line}echo $LD_PRELOAD \"$GPUMEMTRACE_OPTIONS\""],
            capture_output=True,
            text=True,
            check=True,
            env={**cli.PLAIN, "LD_PRELOAD": "libm.so.6"},
        )
        self.assertEqual(done.stdout, f"{self.library}:libm.so.6 output=%p *.gz\n")

    def test_the_path_alone_is_for_ld_preload(self):
        self.assertEqual(self.run_program("env", "--path").stdout, self.library + "\n")
        line = f"LD_PRELOAD=$({shlex.quote(self.program)} env --path) env true"
        self.assertEqual(self.started_with(line, GPUMEMTRACE_OPTIONS="depth=7"), "depth=7")

    def test_json_names_the_recorder_and_the_variables(self):
        answer = json.loads(self.run_program("env", "--json", "--depth=7", '--output="a b".gz').stdout)
        self.assertEqual((answer["schema"], answer["recorder"]), ("gpumemtrace.env/1", self.library))
        self.assertEqual(answer["variables"]["LD_PRELOAD"], self.library)
        self.assertTrue(answer["variables"]["GPUMEMTRACE_OPTIONS"].startswith("depth=7:output="))
        self.assertNotIn("GPUMEMTRACE_OPTIONS", json.loads(self.run_program("env", "--json").stdout)["variables"])

    def test_docker_lines_copy_the_files_that_are_installed(self):
        program, library = install("docker", "lib", "gpumemtrace")
        folder = os.path.dirname(library)
        self.assertIn(
            "\nCOPY --from=gpumemtrace libgpumemtrace.so /opt/gpumemtrace/\n",
            self.run_program("env", "--docker", program=program).stdout,
        )
        with open(os.path.join(folder, "libgmtunw.so.8"), "w", encoding="utf-8"):
            pass
        lines = self.run_program("env", "--docker", "--output=$A.gz", program=program).stdout.splitlines()
        self.assertRegex(lines[0], rf"^# gpumemtrace [\d.]+: docker build --build-context gpumemtrace={folder} \.$")
        self.assertEqual(
            lines[1:],
            [
                "COPY --from=gpumemtrace libgpumemtrace.so libgmtunw.so.8 /opt/gpumemtrace/",
                "ENV LD_PRELOAD=/opt/gpumemtrace/libgpumemtrace.so",
                'ENV GPUMEMTRACE_OPTIONS="output=\\$A.gz"',
            ],
        )

    def test_only_one_form_may_be_chosen(self):
        for forms in (["--path", "--json"], ["--docker", "--export"]):
            done = self.run_program("env", *forms)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("give only one of --export, --path, --json and --docker", done.stderr)

    def test_a_form_that_cannot_hold_the_values_is_refused(self):
        done = self.run_program("env", "--path", "--depth=7")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("--path prints no options of the recorder", done.stderr)
        done = self.run_program("env", "--docker", "--output=a\nb.gz")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("a Dockerfile cannot contain control characters", done.stderr)
        program, _ = install("bell\a", "lib", "gpumemtrace")
        for form in ("--path", "--docker"):
            done = self.run_program("env", form, program=program)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("has control characters: use --export", done.stderr)
            self.assertNotIn("\a", done.stderr)


if __name__ == "__main__":
    cli.main()
