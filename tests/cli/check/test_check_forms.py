# SPDX-License-Identifier: MIT
"""check: the forms for CI systems: JUnit XML, SARIF, GitHub annotations and summaries, JSON. Names may be hostile."""

import functools
import json
import os
import re
import subprocess
import unittest
import xml.etree.ElementTree as ET

import cli
from recording import CUDA, MiB, Story, train

HOSTILE = 'f<&>"\'%,:|`\n\x01\x1b[31m]]>é☃'


def check(*arguments, environment=None):
    return cli.run("check", *arguments, environment=environment)


@functools.lru_cache(None)
def parsers():
    """Returns a Python that has the parsers, or None."""
    setup = os.path.join(cli.SOURCE, "scripts", "setup", "python")
    done = subprocess.run([setup, "--if-ready"], capture_output=True, text=True)
    python = done.stdout.splitlines()[-1] if done.returncode == 0 else None
    has = python and subprocess.run([python, "-c", "import junitparser, sarif_pydantic"], capture_output=True)
    return python if has and has.returncode == 0 else None


def parse(kind, path):
    if not parsers():
        raise unittest.SkipTest("no environment with the parsers: scripts/setup/python")
    script = os.path.join(cli.TESTS, "cli", "check", "read_forms.py")
    done = subprocess.run([parsers(), script, kind, path], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def sources(name):
    """Makes a git repository with a program in a folder."""
    root = cli.place(name)
    os.makedirs(os.path.join(root, ".git"))
    os.makedirs(os.path.join(root, "my app"))
    return root


class Forms(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = sources("repository")
        folder = os.path.join(cls.root, "my app")
        story = train(Story(directory=folder), leak=4096, file=f"{folder}/train.py")
        story.alloc(MiB, "/usr/lib/python3/dist-packages/x/y.py:3 in inner", f"{folder}/ext.py:7 in table", layer=CUDA)
        cls.path = story.write("forms.gmt.gz")
        story = train(Story(), steps=12)
        story.alloc(MiB, f"/home/me/evil.py:7 in {HOSTILE}".replace("\n", "\\n"), layer=CUDA)
        story.codes = {
            (HOSTILE if "\\n" in function else function, file): i for (function, file), i in story.codes.items()
        }
        cls.hostile = story.write("hostile.gmt.gz", ends=False)

    def write(self, kind, *arguments):
        path = cli.place(f"out.{kind}")
        done = check(f"--{kind}", path, *arguments)
        self.assertEqual(done.returncode, 1, done.stderr)
        return path

    def test_junit_has_a_case_for_each_rule_layer_and_rank(self):
        (suite,) = parse("junit", self.write("junit", self.path))
        cases = {case["name"]: case["results"] for case in suite["cases"]}
        states = [row["state"] for row in json.loads(check("--json", self.path).stdout)["checks"]]
        self.assertEqual(
            (suite["tests"], suite["failures"], suite["skipped"]), (len(cases), 2, states.count("skipped"))
        )
        self.assertEqual(len(cases), len(states))
        self.assertEqual({case["classname"] for case in suite["cases"]}, {"gpumemtrace.check"})
        ((kind, rule, message, text),) = cases["GMT002 growth: torch on GPU 0, forms.gmt.gz"]
        self.assertEqual((kind, rule, message), ("Failure", "GMT002", "grows by 4.00 KiB a step, 0 B allowed"))
        self.assertIn("> train.py:32 in keep", text)
        self.assertEqual(cases["GMT007 invalid-free: forms.gmt.gz"], [])
        self.assertEqual(cases["GMT003 peak: torch on GPU 0, forms.gmt.gz"][0][0], "Skipped")

    def test_junit_keeps_to_what_jenkins_allows(self):
        """Jenkins' xUnit plugin allows only the elements, attributes and children of its schema (junit-10)."""
        allowed = {
            "testsuites": ({"name", "tests", "failures", "errors", "time"}, {"testsuite"}),
            "testsuite": (
                {"name", "tests", "failures", "errors", "skipped", "time", "timestamp", "hostname", "id", "package"},
                {"testcase", "properties", "system-out", "system-err"},
            ),
            "testcase": (
                {"name", "classname", "time", "group"},
                {"skipped", "failure", "error", "system-out", "system-err"},
            ),
            "failure": ({"type", "message"}, set()),
            "skipped": ({"type", "message"}, set()),
            "system-out": (set(), set()),
        }
        required = {"testsuite": {"name", "tests", "failures", "errors"}, "testcase": {"name"}}
        for path in self.path, self.hostile:
            root = ET.parse(self.write("junit", path)).getroot()
            self.assertEqual(root.tag, "testsuites")
            for element in root.iter():
                attributes, children = allowed[element.tag]
                self.assertLessEqual(set(element.attrib), attributes, element.tag)
                self.assertLessEqual(required.get(element.tag, set()), set(element.attrib))
                self.assertLessEqual({child.tag for child in element}, children)
            for suite in root:
                self.assertEqual(int(suite.get("tests")), len(suite))
                self.assertEqual(int(suite.get("failures")), len(suite.findall("testcase/failure")))
                self.assertEqual(int(suite.get("skipped")), len(suite.findall("testcase/skipped")))

    def test_names_that_are_not_xml_are_escaped(self):
        text = "".join(ET.parse(self.write("junit", self.hostile)).getroot().itertext())
        self.assertIn('f<&>"\'%,:|`', text)
        self.assertIn("]]>é☃", text)
        self.assertNotIn("\x01", text)

    def sarif(self, *arguments):
        with open(self.write("sarif", *arguments), encoding="utf-8") as file:
            return json.load(file)

    def test_an_independent_parser_reads_sarif_and_finds_the_results_of_json(self):
        parse("sarif", self.write("sarif", self.hostile))
        log = parse("sarif", self.write("sarif", self.path))
        (run,) = log["runs"]
        self.assertEqual((log["version"], run["tool"]["driver"]["name"]), ("2.1.0", "gpumemtrace"))
        found = json.loads(check("--json", self.path).stdout)["findings"]
        self.assertEqual([row["ruleId"] for row in run["results"]], [row["rule"] for row in found])
        self.assertEqual({row["level"] for row in run["results"]}, {"error"})

    def test_sarif_rules_have_stable_ids_that_results_point_at(self):
        (run,) = self.sarif(self.path)["runs"]
        rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
        self.assertEqual(len(rules), len(set(rules)))
        self.assertLessEqual({f"GMT00{number}" for number in range(1, 10)}, set(rules))
        for result in run["results"]:
            self.assertEqual(rules[result["ruleIndex"]], result["ruleId"])

    def places(self, *arguments):
        (run,) = self.sarif(*arguments)["runs"]
        return [
            [
                (place["physicalLocation"]["artifactLocation"]["uri"], place["physicalLocation"]["region"]["startLine"])
                for place in result["locations"]
            ]
            for result in run["results"]
        ]

    def test_sarif_places_are_relative_to_the_repository_that_the_program_ran_in(self):
        self.assertEqual(sorted(self.places(self.path)), [[("my%20app/ext.py", 7)], [("my%20app/train.py", 32)]])

    def test_with_a_source_root_files_outside_have_no_location(self):
        self.assertEqual(
            sorted(self.places(f"--source-root={self.root}/my app", self.path)), [[("ext.py", 7)], [("train.py", 32)]]
        )
        self.assertEqual(self.places("--source-root=/nowhere", self.path), [[], []])
        self.assertEqual(self.places(f"--source-root={self.root}/my", self.path), [[], []])

    def test_sarif_has_the_whole_stack_outermost_first_in_the_flow(self):
        (run,) = self.sarif(self.path)["runs"]
        (leak,) = (row for row in run["results"] if row["ruleId"] == "GMT001")
        names = [frame["location"]["message"]["text"] for frame in leak["stacks"][0]["frames"]]
        self.assertEqual(names, ["x/y.py:3 in inner", "ext.py:7 in table"])
        flow = leak["codeFlows"][0]["threadFlows"][0]["locations"]
        self.assertEqual([place["location"]["message"]["text"] for place in flow], names[::-1])

    def test_fingerprints_stay_when_lines_move_and_differ_between_findings(self):
        def fingerprints(path):
            (run,) = self.sarif(path)["runs"]
            return {row["partialFingerprints"]["primaryLocationLineHash"] for row in run["results"]}

        story = train(Story(directory="/other"), leak=4096, line=500, file="/other/train.py")
        story.alloc(MiB, "/usr/lib/python3/dist-packages/x/y.py:9 in inner", "/other/ext.py:70 in table", layer=CUDA)
        before = fingerprints(self.path)
        self.assertEqual(len(before), 2)
        self.assertEqual(fingerprints(story.write("moved.gmt.gz")), before)

    def github(self, path, **environment):
        return check(path, environment={"GITHUB_ACTIONS": "true", **environment})

    def test_github_gets_an_annotation_at_the_line(self):
        lines = [line for line in self.github(self.path).stderr.splitlines() if line.startswith("::")]
        self.assertEqual(len(lines), 2)
        (growth,) = (line for line in lines if "GMT002" in line)
        self.assertTrue(
            growth.startswith(
                "::error file=my app/train.py,line=32,title=GMT002 growth%3A torch on GPU 0%2C forms.gmt.gz::grows by"
            ),
            growth,
        )
        self.assertIn("%0Aover 16 steps; nearly every step added bytes that stay; confidence ", growth)

    def test_check_prints_no_annotations_outside_of_github(self):
        self.assertNotIn("::error", check(self.path).stderr)
        self.assertNotIn("::error", check(self.path, environment={"GITHUB_ACTIONS": "false"}).stderr)

    def test_no_name_can_end_an_annotation_or_begin_another(self):
        lines = self.github(self.hostile).stderr.splitlines()
        marked = [line for line in lines if line.startswith("::")]
        self.assertEqual(len(marked), 2)
        self.assertEqual([line.split(" ")[0] for line in marked], ["::error", "::warning"])
        for line in lines:
            self.assertNotRegex(line, r"[\x00-\x08\x0b-\x1f]")

    def test_the_step_summary_is_markdown_that_is_appended(self):
        path = cli.place("summary.md")
        with open(path, "w") as file:
            file.write("before\n")
        for recording in self.path, self.hostile:
            self.github(recording, GITHUB_STEP_SUMMARY=path)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.assertTrue(text.startswith("before\n### GPU memory: failed\n\n| | rule |"), text[:80])
        self.assertIn("| **fails** | GMT002 growth: torch on GPU 0, forms.gmt.gz | ", text)
        for line in text.splitlines():
            if line.startswith("|"):
                self.assertEqual(len(re.findall(r"(?<!\\)\|", line)), 5, line)

    def test_json_has_each_measured_value_and_its_limit(self):
        answer = json.loads(check("--json", "--max-peak=4MiB", "--max-fragmentation=2", self.path).stdout)
        rows = {(row["rule"], row["layer"]): row for row in answer["checks"]}
        peak = rows["GMT003", "torch"]
        self.assertEqual((peak["state"], peak["limit"], peak["unit"]), ("failed", 4 * MiB, "bytes"))
        self.assertEqual(rows["GMT002", "torch"]["measured"], 4096)
        self.assertEqual((answer["files"][0]["rank"], answer["files"][0]["pid"]), (None, 7))

    def test_every_json_key_is_in_the_document(self):
        with open(os.path.join(cli.SOURCE, "docs", "ci.md"), encoding="utf-8") as file:
            section = file.read().split("## JSON")[1]

        def keys(value):
            if isinstance(value, dict):
                for key, inner in value.items():
                    yield key
                    # The page about the report's JSON explains frames.
                    yield from () if key == "stack" else keys(inner)
            elif isinstance(value, list):
                for inner in value:
                    yield from keys(inner)

        path = cli.place("keys")
        with open(path, "w") as file:
            file.write("leak:nothing\n")
        answer = json.loads(check("--json", "--suppressions", path, self.path).stdout)
        for key in set(keys(answer)) - {"schema"}:
            self.assertIn(f"`{key}`", section)

    def test_hostile_names_do_not_reach_the_terminal(self):
        text = check(self.hostile).stdout
        self.assertNotRegex(text, r"[\x00-\x08\x0b-\x1f]")
        json.loads(check("--json", self.hostile).stdout)


if __name__ == "__main__":
    cli.main()
