# SPDX-License-Identifier: MIT
"""The source distribution has the same files, wherever the source tree lies."""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

import tap
from packages import SOURCE, must

PAGE = "page/dist/page.html"
OUTPUTS = (
    "build/meson-info.json",
    "build-wheel-x86_64/gpumemtrace",
    "dist/gpumemtrace-0.tar.gz",
    "page/dist/other.html",
    "page/node_modules/a/index.js",
    "scripts/packaging/__pycache__/sdist.pyc",
    "tests/.ruff_cache/a",
    "tests/x.gmt.gz",
)


def write_file(path):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write("text")


@unittest.skipUnless(shutil.which("git"), "there is no git")
class SourceDistribution(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="gpumemtrace-sdist.")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def git(self, folder, *arguments):
        names = ["-c", "user.name=test", "-c", "user.email=test@localhost", "-c", "safe.directory=*"]
        return must("git", *names, "-C", folder, *arguments, HOME=self.folder)

    def contents(self, source):
        """Returns the names in the source distribution of a tree, without the folder at their front."""
        folder = tempfile.mkdtemp(dir=self.folder)
        script = os.path.join(source, "scripts", "packaging", "sdist.py")
        path = must(sys.executable, "-B", script, folder, HOME=self.folder).strip()
        with tarfile.open(path) as archive:
            return {name.partition("/")[2] for name in archive.getnames()}

    def tree(self, *place):
        """Returns a copy of the project's files in the folder `place`, and the names that its distribution must have."""
        if not os.path.exists(os.path.join(SOURCE, ".git")):
            self.skipTest("this source tree is no git repository")
        target = os.path.join(self.folder, *place)
        names = [
            name
            for name in self.git(SOURCE, "ls-files", "-z").split("\0")
            if os.path.isfile(os.path.join(SOURCE, name))
        ]
        for name in [name for name in names if name]:
            os.makedirs(os.path.dirname(os.path.join(target, name)), exist_ok=True)
            shutil.copy(os.path.join(SOURCE, name), os.path.join(target, name))
        write_file(os.path.join(target, PAGE))
        return target, {*names, PAGE, "PKG-INFO"}

    def test_an_unpacked_tree_gives_all_files_and_no_build_outputs(self):
        target, names = self.tree("unpacked")
        for name in OUTPUTS:
            write_file(os.path.join(target, name))
        self.assertEqual(self.contents(target), names)

    def test_a_tree_that_lies_untracked_in_another_repository_gives_all_files(self):
        target, names = self.tree("other", "vendor", "gpumemtrace")
        other = os.path.join(self.folder, "other")
        self.git(other, "init", "-q")
        self.git(other, "add", "vendor/gpumemtrace/README.md")
        self.assertEqual(self.contents(target), names)

    def test_a_repository_that_git_refuses_gives_no_archive(self):
        target, _names = self.tree("refused")
        write_file(os.path.join(target, ".git", "HEAD"))
        folder = tempfile.mkdtemp(dir=self.folder)
        script = os.path.join(target, "scripts", "packaging", "sdist.py")
        done = subprocess.run([sys.executable, "-B", script, folder], stderr=subprocess.PIPE, text=True)
        self.assertEqual((done.returncode, done.stderr.count("\n"), os.listdir(folder)), (1, 1, []))
        self.assertIn("git cannot list the files of", done.stderr)

    def test_a_repository_gives_the_files_that_git_knows(self):
        target, names = self.tree("own")
        self.git(target, "init", "-q")
        self.git(target, "add", "--all")
        write_file(os.path.join(target, "notes-of-mine"))
        self.assertEqual(self.contents(target), names)


if __name__ == "__main__":
    tap.main()
