# SPDX-License-Identifier: MIT
"""Runs a composite action as a runner of GitHub does, as far as the action of this project needs it.

The file has a fixed form: steps with `name`, `id`, `if`, `shell`, `env`, `with`, `uses` and `run: |`. The tests read it
without a library for YAML. An unknown expression is an error.
"""

import os
import re
import subprocess
import textwrap


class Step:
    def __init__(self, text):
        self.env, self.given = {}, {}
        head, _, script = text.partition("      run: |\n")
        self.run = textwrap.dedent(script)

        def field(key):
            found = re.search(rf"^      {key}: (.*)$", head, re.M)
            return found[1] if found else None

        self.id, self.condition, self.shell, self.uses = field("id"), field("if"), field("shell"), field("uses")
        self.working_directory = field("working-directory")
        for key, values in (("env", self.env), ("with", self.given)):
            block = re.search(rf"^      {key}:\n((?:        .*\n)+)", head, re.M)
            for name, value in re.findall(r"^        ([\w-]+): (.*)$", block[1] if block else "", re.M):
                values[name] = value


def defaults(text):
    """Returns {input: default} of the action, None for an input that is required."""
    block = re.search(r"^inputs:\n(.*?)^\S", text, re.M | re.S)[1]
    found = {}
    for name, body in re.findall(r"^  ([\w-]+):\n((?:    .*\n)+)", block, re.M):
        value = re.search(r"^    default: (.*)$", body, re.M)
        found[name] = value[1].strip("'\"") if value else None
    return found


def steps(text):
    block = text[text.index("  steps:\n") + len("  steps:\n") :]
    return [Step("      " + one[6:]) for one in re.split(r"(?m)^(?=    - )", block) if one.strip()]


def read_outputs(path):
    """Returns the outputs of a step, as a runner reads the file GITHUB_OUTPUT. The last value of a name counts."""
    values = {}
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    while lines:
        name, _, value = lines.pop(0).partition("=")
        if found := re.match(r"([\w-]+)<<(\S+)$", name):
            end = lines.index(found[2])
            name, value = found[1], "\n".join(lines[:end])
            del lines[: end + 1]
        values[name] = value
    return values


class Action:
    """Runs the action's steps in a folder. After `run`, `code`, `outputs`, `uploaded`, `log` and `summary` say what it did."""

    def __init__(self, text, workspace, environment):
        self.text, self.workspace, self.environment = text, workspace, dict(environment)
        self.code, self.uploaded, self.log, self.step_outputs = 0, None, "", {}

    def value(self, expression, inputs):
        def replace(found):
            words = found[1].split(".")
            if words[0] == "inputs":
                return inputs[words[1]]
            assert words[0] == "steps" and words[2] == "outputs", found[0]
            return self.step_outputs.get(words[1], {}).get(words[3], "")

        return re.sub(r"\$\{\{ ([\w.-]+) \}\}", replace, expression)

    def should_run(self, step, inputs):
        if step.condition is None:
            return self.code == 0
        found = re.fullmatch(r"always\(\) && inputs\.([\w-]+) != ''", step.condition)
        assert found, step.condition
        return inputs[found[1]] != ""

    def run(self, temporary, **given):
        given = {name.replace("_", "-"): value for name, value in given.items()}
        inputs = {**defaults(self.text), **given}
        assert None not in inputs.values() and inputs.keys() == defaults(self.text).keys(), inputs
        for number, step in enumerate(steps(self.text)):
            if not self.should_run(step, inputs):
                continue
            if step.uses:
                self.uploaded = {name: self.value(value, inputs) for name, value in step.given.items()}
                continue
            self.run_script(step, inputs, os.path.join(temporary, str(number)))
        block = self.text[self.text.index("\noutputs:\n") : self.text.index("\nruns:\n")]
        self.outputs = {
            name: self.value(value, inputs)
            for name, value in re.findall(r"^  ([\w-]+):\n    description: .*\n    value: (.*)$", block, re.M)
        }
        return self

    def run_script(self, step, inputs, folder):
        assert step.shell == "bash" and step.run, step.id
        os.makedirs(folder)
        files = {name: os.path.join(folder, name) for name in ("output", "path", "summary", "script")}
        for name, path in files.items():
            with open(path, "w", encoding="utf-8") as file:
                file.write(step.run if name == "script" else "")
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", files["script"]],
            cwd=os.path.join(self.workspace, self.value(step.working_directory or ".", inputs)),
            env={
                **self.environment,
                **{name: self.value(value, inputs) for name, value in step.env.items()},
                "GITHUB_ACTIONS": "true",
                "GITHUB_OUTPUT": files["output"],
                "GITHUB_PATH": files["path"],
                "GITHUB_STEP_SUMMARY": files["summary"],
                "RUNNER_TEMP": folder,
            },
            capture_output=True,
            text=True,
            timeout=600,
        )
        self.log += done.stdout + done.stderr
        self.code = self.code or done.returncode
        if step.id:
            self.step_outputs[step.id] = read_outputs(files["output"])
        with open(files["path"], encoding="utf-8") as file:
            added = file.read().splitlines()
        self.environment["PATH"] = os.pathsep.join([*reversed(added), self.environment["PATH"]])
        with open(files["summary"], encoding="utf-8") as file:
            self.summary = file.read()
