# SPDX-License-Identifier: MIT
"""A machine that has ISA-L and one that does not say the same of the same file."""
import glob
import os
import unittest

import cli


class Inflate(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.makedirs(cli.place("none"), exist_ok=True)
        # Found first, and no library: as if there were none.
        with open(os.path.join(cli.place("none"), "libisal.so.2"), "wb"):
            pass
        cls.without = {"LD_LIBRARY_PATH": ":".join(filter(None, (cli.place("none"), os.environ.get("LD_LIBRARY_PATH"))))}
        cls.whole = cli.make("whole.gmt.gz", events=60000, threads=2, sites=50, depth=8, live=200)

    def is_loaded(self, *arguments, environment=None):
        done = cli.run(*arguments, environment={**(environment or {}), "LD_DEBUG": "files"})
        self.assertEqual(done.returncode, 0)
        return any("calling init: " in line and "libisal.so.2" in line for line in done.stderr.splitlines())

    def check_same(self, path, *codes):
        for verb in (["dump"], ["report"], ["info", "--json"]):
            one, other = (cli.run(*verb, path, text=False, environment=environment) for environment in (None, self.without))
            self.assertEqual((one.returncode, one.stdout, one.stderr), (other.returncode, other.stdout, other.stderr))
            self.assertIn(one.returncode, codes)

    def test_it_is_loaded_to_read_a_file_and_for_nothing_else(self):
        if not self.is_loaded("info", self.whole):
            self.skipTest("no ISA-L: not on this machine, or not built in")
        self.assertFalse(self.is_loaded("info", self.whole, environment=self.without))
        self.assertFalse(self.is_loaded("version"))

    def test_files_of_every_version_read_the_same(self):
        paths = glob.glob(os.path.join(cli.TESTS, "golden", "*.gmt"))
        self.assertGreater(len(paths), 2)
        for path in (*paths, self.whole):
            self.check_same(path, 0)

    def test_files_that_are_cut_read_the_same(self):
        with open(self.whole, "rb") as file:
            data = file.read()
        self.assertGreater(len(data), 256 << 10)  # inflated by a thread
        path = cli.place("cut.gmt.gz")
        for size in (len(data) - 1, len(data) - 8, len(data) - 9, len(data) * 2 // 3, 100000, 65536, 300, 20):
            with open(path, "wb") as file:
                file.write(data[:size])
            self.check_same(path, 0, 3)

    def test_what_stands_behind_a_member_reads_the_same(self):
        with open(self.whole, "rb") as file:
            data = file.read()
        path = cli.place("more.gmt.gz")
        for more in (b"\0", b"garbage", b"\x1f", b"\x1f\x8b", b"\x1f\x8b\x08" + bytes(7), data):
            with open(path, "wb") as file:
                file.write(data + more)
            self.check_same(path, 0, 3)


if __name__ == "__main__":
    cli.main()
