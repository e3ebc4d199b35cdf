# SPDX-License-Identifier: MIT
"""Runs a program without the recorder and with it, and returns the differences.

Each run has the same folders, which are empty at its start, and the same environment except LD_PRELOAD. The comparison
leaves out lines that differ between two runs without the recorder.
"""

import dataclasses
import difflib
import hashlib
import os
import re
import shutil
import signal
import stat
import subprocess
import tempfile

import other_users
from recorded_run import SHIM

TIME_LIMIT_S = 900  # more than any program needs that ends
# The environment variables of the user that programs need. The rest must not appear in a failed test's output.
PASSED_VARIABLES = ("PATH", "USER", "LOGNAME", "SHELL")


@dataclasses.dataclass
class Outcome:
    """The visible result of a run."""

    end: str  # "exit 3", "signal 15"
    out: bytes
    err: bytes
    files: dict  # path -> kind, permissions and content

    def texts(self):
        """Returns each part as lines."""
        files = "".join(f"{path}: {what}\n" for path, what in sorted(self.files.items()))
        parts = {"end": self.end, "files": files}
        for name, content in (("stdout", self.out), ("stderr", self.err)):
            parts[name] = content.decode("utf-8", "backslashreplace")
        return {name: text.splitlines() for name, text in parts.items()}


class RunFolder:
    """A folder with the same path in each run, because programs write the path into their output."""

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix="gpumemtrace-hosts.")
        self.work, self.home, self.temporary = (os.path.join(self.path, name) for name in ("work", "home", "tmp"))

    def __enter__(self):
        return self

    def __exit__(self, *error):
        shutil.rmtree(self.path, ignore_errors=True)

    def clear(self, files):
        """Empties the folder, and writes `files` (name: text) into its working folder."""
        for folder in (self.work, self.home, self.temporary):
            subprocess.run(["rm", "-rf", folder], check=True)
            os.mkdir(folder)
        for name, text in files.items():
            path = os.path.join(self.work, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)

    def environment(self, preload, libraries, more):
        variables = {name: os.environ[name] for name in PASSED_VARIABLES if name in os.environ}
        variables.update(HOME=self.home, TMPDIR=self.temporary, LC_ALL="C.UTF-8", PYTHONHASHSEED="0", **more)
        if libraries:
            variables["LD_LIBRARY_PATH"] = libraries
        if preload:
            variables["LD_PRELOAD"] = preload
        return variables

    def files(self, ignored):
        """Returns everything in the folder: kind, permissions and content."""
        found = {}
        for folder, names, others in os.walk(self.path):
            for name in names + others:
                path = os.path.join(folder, name)
                short = os.path.relpath(path, self.path)
                if not any(re.search(pattern, short) for pattern in ignored):
                    found[short] = describe(path)
        return found


def describe(path):
    """Returns the kind, the permissions and the content of a file as a text."""
    status = os.lstat(path)
    text = stat.filemode(status.st_mode)
    if stat.S_ISLNK(status.st_mode):
        return f"{text} to {os.readlink(path)}"
    if not stat.S_ISREG(status.st_mode):
        return text
    with open(path, "rb") as file:
        return f"{text} {status.st_size} bytes {hashlib.sha256(file.read()).hexdigest()[:16]}"


def normalise(content, rules):
    for pattern, replacement in rules:
        content = re.sub(pattern.encode(), replacement.encode(), content)
    return content


def run(host, run_folder, preload=None, libraries=None):
    """Runs one row of the table."""
    run_folder.clear(host.files)
    process = subprocess.Popen(
        host.command,
        cwd=run_folder.work,
        env=run_folder.environment(preload, libraries, host.environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=TIME_LIMIT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        err += b"\n(killed: it did not end)\n"
    code = process.returncode
    return Outcome(
        f"exit {code}" if code >= 0 else f"signal {-code}",
        normalise(out, host.normalise),
        normalise(err, host.normalise),
        run_folder.files(host.ignored),
    )


def varying_lines(one, other):
    """Returns the indices of lines in which two runs differ. None: any line may differ."""
    if len(one) != len(other):
        return None
    return {i for i, (a, b) in enumerate(zip(one, other)) if a != b}


def without_lines(lines, indices):
    return [line for i, line in enumerate(lines) if i not in indices]


def differences(plain, again, recorded):
    """Returns the differences between `recorded` and the two other runs as text, "" if there are none."""
    texts, texts_again, recorded_texts = plain.texts(), again.texts(), recorded.texts()
    different = []
    for part, lines in texts.items():
        varying = varying_lines(lines, texts_again[part])
        if varying is None or (varying and len(recorded_texts[part]) != len(lines)):
            # The number of lines varies by itself. Lines in both runs without the recorder must be in `recorded`.
            expected = set(lines) & set(texts_again[part])
            different += [f"{part}: missing: {line}" for line in sorted(expected - set(recorded_texts[part]))]
            continue
        expected, got = without_lines(lines, varying), without_lines(recorded_texts[part], varying)
        if expected != got:
            different += [
                f"{part}: {line}"
                for line in difflib.unified_diff(expected, got, "without the recorder", "with it", lineterm="", n=1)
            ]
    return "\n".join(different)


def compare(host, libraries=None, preload=SHIM):
    """Returns the differences between runs with and without the recorder, and the outcome without it."""
    if host.as_root:
        # Such programs change to another user, who may have no access to the build folder.
        preload = other_users.reachable(preload)
    with RunFolder() as run_folder:
        plain = run(host, run_folder, None, libraries)
        recorded = run(host, run_folder, preload, libraries)
        again = run(host, run_folder, None, libraries)
    return differences(plain, again, recorded), plain
