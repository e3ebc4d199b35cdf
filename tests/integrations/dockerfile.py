# SPDX-License-Identifier: MIT
"""Runs the instructions of a Dockerfile on a folder. Knows only the instructions that the recipes use."""

import glob
import os
import re
import shlex
import shutil


def instructions(text):
    """Returns (name, words) of each instruction."""
    text = re.sub(r"(?m)^#.*\n?", "", text).replace("\\\n", " ")
    return [(line.split()[0], shlex.split(line)[1:]) for line in text.splitlines() if line.strip()]


def copy(words, contexts, root):
    flag, *sources, target = words
    assert flag.startswith("--from=") and target.startswith("/") and target.endswith("/"), words
    context = contexts[flag.removeprefix("--from=")]
    os.makedirs(root + target, exist_ok=True)
    for source in sources:
        found = glob.glob(os.path.join(context, source))
        assert found, f"COPY: {source} is not in {context}"
        for path in found:
            shutil.copy(path, root + target)


def build(text, contexts, root):
    """Copies files of {name of a context: folder} into the folder `root`. Returns the variables of the image."""
    variables = {}
    for name, words in instructions(text):
        if name == "COPY":
            copy(words, contexts, root)
        elif name == "ENV":
            variables.update(word.split("=", 1) for word in words)
        else:
            assert name in ("ARG", "FROM", "USER"), name
    return variables
