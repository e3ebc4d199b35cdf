# SPDX-License-Identifier: MIT
"""The recipes' files pass the schemas and linters of the tools that read them. Broken copies of the files fail."""

import os
import re
import shutil
import subprocess
import tempfile
import textwrap
import unittest

import recipes
import tap
from recipes import SOURCE, read
from github_action import steps

INTEGRATIONS = os.path.join(SOURCE, "integrations")


class Schemas(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="gpumemtrace-schemas.")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def check(self, name, *options):
        """Runs a linter. Returns its exit code and output."""
        program = shutil.which(name) or os.path.join(recipes.linters() or "", name)
        if not os.path.exists(program):
            self.skipTest(f"no {name}: run scripts/setup/linters or scripts/setup/packages --long")
        environment = dict(os.environ)
        if java := shutil.which("java"):
            environment["JAVA_HOME"] = os.path.dirname(os.path.dirname(os.path.realpath(java)))
        done = subprocess.run(
            [program, *options], capture_output=True, text=True, timeout=300, cwd=self.folder, env=environment
        )
        return done.returncode, done.stdout + done.stderr

    def check_file(self, path, good, bad, name, *options):
        """Checks that a linter accepts the file, and refuses it if the text `good` is replaced by `bad`."""
        code, output = self.check(name, *options, os.path.join(SOURCE, path))
        self.assertEqual(code, 0, output)
        text = read(path)
        self.assertIn(good, text)
        broken = os.path.join(self.folder, os.path.basename(path))
        with open(broken, "w", encoding="utf-8") as file:
            file.write(text.replace(good, bad))
        code, output = self.check(name, *options, broken)
        self.assertNotEqual(code, 0, output)

    def test_the_action_keeps_the_schema_of_github(self):
        options = ["--builtin-schema", "vendor.github-actions"]
        self.check_file("action.yml", "      shell: bash\n", "      shall: bash\n", "check-jsonschema", *options)

    def test_the_workflow_of_the_page_keeps_the_schema_of_github(self):
        text = recipes.code_blocks("ci.md", "GitHub", "yaml")[0]
        path = os.path.join(self.folder, "workflow.yml")
        for content, is_valid in (("on: push\n" + text, True), (text, False)):
            with open(path, "w", encoding="utf-8") as file:
                file.write(content)
            code, output = self.check("check-jsonschema", "--builtin-schema", "vendor.github-workflows", path)
            self.assertEqual(code == 0, is_valid, output)

    def test_the_template_keeps_the_schema_of_gitlab(self):
        options = ["--builtin-schema", "vendor.gitlab-ci"]
        template = read("integrations", "gitlab", "gpumemtrace.yml")
        # The schema judges a job that is not a template in full.
        job = template.replace("\n.gpumemtrace:", "\ngpumemtrace:")
        page = recipes.code_blocks("ci.md", "GitLab and Jenkins", "yaml")[0]
        path = os.path.join(self.folder, "gitlab-ci.yml")
        broken = job.replace("    when: always\n", "    when: alway\n")
        self.assertEqual(len({template, job, broken}), 3)
        for text, is_valid in ((template, True), (job, True), (page, True), (broken, False)):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            code, output = self.check("check-jsonschema", *options, path)
            self.assertEqual(code == 0, is_valid, output)

    def test_the_job_keeps_the_schema_of_kubernetes(self):
        path = os.path.join("integrations", "kubernetes", "job.yaml")
        self.check_file(path, "runAsNonRoot: true", "runAsNonRoot: yes please", "kubernetes-validate", "--strict")

    def test_the_dockerfiles_keep_the_rules_of_hadolint(self):
        for name in ("Dockerfile", "recorder.Dockerfile"):
            path = os.path.join("integrations", "container", name)
            self.check_file(path, "# hadolint ignore=DL3022\n", "", "hadolint")

    def test_groovy_compiles_the_pipeline(self):
        # Groovy knows the syntax, but not the words of Jenkins.
        path = os.path.join("integrations", "jenkins", "Jenkinsfile")
        self.check_file(path, "    always {\n", "    always\n", "groovyc", "-d", self.folder)

    def test_the_page_names_the_placeholders_and_the_files_that_have_them(self):
        section = read("docs", "install.md").partition("\n## What to replace\n")[2].partition("\n## ")[0]
        rows = re.findall(r"^\| `(\S+)`.*? \| (.*?) \|", section, re.M)
        self.assertEqual(len(rows), 4)
        for placeholder, places in rows:
            links = re.findall(r"\]\((\S+?)\)", places)
            self.assertTrue(links, placeholder)
            for link in links:
                self.assertIn(placeholder, read("docs", link), link)

    def test_shellcheck_accepts_each_script(self):
        gitlab = read("integrations", "gitlab", "gpumemtrace.yml")
        jenkins = read("integrations", "jenkins", "Jenkinsfile")
        command = re.search(r">-\n((?:      .*\n)+)", gitlab)[1].replace("\n", " ")
        scripts = {
            "jenkins.sh": "# shellcheck shell=sh disable=SC1091\n"
            + textwrap.dedent(re.search(r"sh '''\n(.*?)'''", jenkins, re.S)[1]),
            # One variable has several words.
            "gitlab.sh": f"# shellcheck shell=sh disable=SC2086\n{command.strip()}\n",
            **{
                f"step{number}.sh": "# shellcheck shell=bash\n" + step.run
                for number, step in enumerate(steps(read("action.yml")))
                if step.run
            },
            "train.sbatch": read("integrations", "slurm", "train.sbatch"),
        }
        self.assertEqual(len(scripts), 5)
        for page, headings in (
            ("clusters.md", ("torchrun", "MPI", "Slurm", "Accelerate", "Lightning", "DeepSpeed", "Ray", "vLLM")),
            ("containers.md", ("An image with the recorder", "Kubernetes")),
        ):
            for heading in headings:
                text = "\n".join(recipes.code_blocks(page, heading))
                self.assertTrue(text, heading)
                scripts[f"{page}-{heading.replace(' ', '-')}.sh"] = "# shellcheck shell=bash\n" + text
        for name, text in scripts.items():
            path = os.path.join(self.folder, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            # Lines for a prompt need not handle files whose names begin with a dash.
            options = ["--exclude=SC2035"] if ".md-" in name else []
            code, output = self.check("shellcheck", "--external-sources", *options, path)
            self.assertEqual(code, 0, output)


if __name__ == "__main__":
    tap.main()
