# SPDX-License-Identifier: MIT
"""What the tests of tables share: the package of this source tree, and recordings with something in each table."""

import os
import subprocess
import sys

import cli
import write_recording as w
from definitions import Kind, MarkKind, MarkSource, Space
from recording import CUDA, MiB, Story

SOURCE = cli.SOURCE
PACKAGE = os.path.join(SOURCE, "python")
LIBRARY = os.path.join(cli.BUILD, "library", "libgpumemtrace-read.so.1")

# The user's own environment: the setup scripts keep their folders where it says.
USERS = dict(os.environ)
# The package finds the program and the library of the build folder by PATH.
os.environ["PATH"] = os.path.dirname(cli.CLI) + os.pathsep + os.environ.get("PATH", "")
os.environ["XDG_CACHE_HOME"] = cli.PLAIN["XDG_CACHE_HOME"]
sys.path.insert(0, PACKAGE)


class Training(Story):
    """A training with phases, a leak, segments, host memory and a block that lives on."""

    def phase(self, name, begins):
        self.stamp += 10
        kind = MarkKind.PUSH if begins else MarkKind.POP
        fields = {"name": self.name(name)} if begins else {}
        self.marks.append(w.mark(self.stamp, kind, MarkSource.PROGRAM, **fields))


def training(name, steps=12):
    """Writes the recording of a training and returns its path."""
    story = Training()
    train, model = "/home/me/train.py", "/home/me/model.py"
    segment = story.alloc(64 * MiB, f"{train}:4 in main", address=0x10_0000_0000, layer=CUDA)
    story.alloc(16 * MiB, f"{train}:5 in main", address=0x20_0000_0000, layer=CUDA)
    story.alloc(MiB, f"{train}:6 in main", layer=CUDA, space=Space.PINNED, device=-1)
    story.alloc(4 * MiB, f"{model}:7 in build", f"{train}:8 in main", address=segment)
    story.alloc(2 * MiB, f"{model}:9 in head", f"{train}:8 in main", address=0x20_0000_0000)

    def body(number):
        story.phase("forward", True)
        block = story.alloc(
            MiB, f"{model}:20 in forward", f"{train}:31 in main", address=segment + 8 * MiB, module="/opt/libmodel.so"
        )
        story.phase("forward", False)
        story.alloc(65536, f"{train}:33 in keep", f"{train}:31 in main", address=segment + 16 * MiB + number * 65536)
        story.free(block)
        if number == 3:
            story.event(Kind.ALLOC_FAILED, layer=CUDA, size_bytes=1 << 40, result=2)

    story.steps(steps, body)
    return story.write(name)


def damaged(name):
    """Writes a recording whose second half is missing, and returns its path."""
    whole = cli.make(name, events=3000, steps=20)
    with open(whole, "r+b") as file:
        file.truncate(os.path.getsize(whole) // 2)
    return whole


def environment(script="tables", *words):
    """Returns the Python of a script of scripts/setup, or None and why there is none."""
    done = subprocess.run(
        [os.path.join(SOURCE, "scripts", "setup", script), "--if-ready", *words],
        capture_output=True,
        text=True,
        env=USERS,
    )
    if done.returncode:
        return None, done.stderr.strip().splitlines()[-1]
    return done.stdout.strip(), ""


def enter_environment(script, *setup):
    """Starts this test again in the environment, unless it runs there. Without one, its tests are skipped.

    `setup`: the words of another script than scripts/setup/tables, such as "data-engine", "spark".
    """
    python, why = environment(*(setup or ("tables",)))
    if python is None:
        print(f"1..0 # SKIP {why}")
        sys.exit(0)
    if os.path.realpath(sys.prefix) != os.path.realpath(os.path.dirname(os.path.dirname(python))):
        os.execve(python, [python, script, *sys.argv[1:]], USERS)
