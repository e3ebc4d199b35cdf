# SPDX-License-Identifier: MIT
"""Recordings at addresses that fsspec opens, and file objects in jobs: as from the files. An S3 server is in `objects`."""

import io
import os
import unittest

import stories

stories.enter_environment(os.path.abspath(__file__))

import cli  # noqa: E402 (these need the environment)
import engine_job  # noqa: E402
import fsspec  # noqa: E402
import tap  # noqa: E402

import gpumemtrace  # noqa: E402
import gpumemtrace.dask  # noqa: E402
from gpumemtrace._jobs import files  # noqa: E402


class Failing(io.BytesIO):
    def read(self, size=-1):
        if self.tell() > 100:
            raise RuntimeError("lost\nconnection")
        return super().read(min(size, 101))


class Job(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = engine_job.write("stored")
        cls.local = gpumemtrace.open_job(cls.folder)
        cls.store = fsspec.filesystem("memory")
        cls.names = []
        for path in cls.local.paths:
            cls.names.append(f"/bucket/run1/{os.path.basename(path)}")
            with open(path, "rb") as file:
                cls.store.pipe(cls.names[-1], file.read())

    def rows(self, job, table, **options):
        rows = job.table(table, **options).to_pyarrow().to_pylist()
        # The only column that differs.
        return [{name: value for name, value in row.items() if name != "path"} for row in rows]

    def test_patterns_prefixes_and_objects_give_the_rows_of_the_files(self):
        for operand in (
            "memory://bucket/run1/*.gmt.gz",
            "memory://bucket/run1",
            "memory://bucket/",
            [f"memory:/{name}" for name in self.names],
            [fsspec.open(f"memory:/{name}") for name in self.names],
        ):
            with self.subTest(operand=operand):
                job = gpumemtrace.open_job(operand)
                self.assertEqual((len(job.paths), job.remarks), (8, ()))
                for table in "process", "sites", "events":
                    self.assertEqual(self.rows(job, table), self.rows(self.local, table))
                self.assertEqual(self.rows(job, "sites", rank=3), self.rows(self.local, "sites", rank=3))

    def test_file_objects_and_files_may_be_mixed_and_read_again(self):
        paths = sorted(self.local.paths)
        opened = [open(path, "rb") for path in paths[4:]]
        job = gpumemtrace.open_job([*paths[:4], *opened])
        self.assertEqual(sorted(job.paths), paths)
        for _ in range(2):
            self.assertEqual(self.rows(job, "sites"), self.rows(self.local, "sites"))
        for file in opened:
            file.close()
        self.assertEqual([row["state"] for row in self.rows(job, "files")][4:], ["unreadable"] * 4)

    def test_a_recording_has_reports_by_its_address(self):
        address = f"memory:/{self.names[2]}"
        with gpumemtrace.open(address) as recording, gpumemtrace.open(self.local.paths[2]) as expected:
            self.assertEqual(recording.leaks().findings, expected.leaks().findings)
            self.assertEqual(recording.report().raw["file"], address)

    def test_other_objects_are_left_out_and_missing_ones_are_one_line(self):
        with open(self.local.paths[0], "rb") as file:
            self.store.pipe("/mixed/no-suffix", file.read())
        self.store.pipe("/mixed/notes.txt", b"hello")
        job = gpumemtrace.open_job("memory://mixed")
        self.assertEqual(job.paths, ("memory:///mixed/no-suffix",))
        self.assertEqual(job.remarks, ("1 file left out: not a recording: memory:///mixed/notes.txt",))
        for operand, why in (
            ("memory://nothing", "memory://nothing: cannot be opened: there is no such object"),
            ("memory://bucket/x*.gmt.gz", "memory://bucket/x*.gmt.gz: no object matches"),
        ):
            with self.assertRaises(gpumemtrace.FileError) as caught:
                gpumemtrace.open_job(operand)
            self.assertEqual(str(caught.exception), f"no recording was found; {why}")
        with self.assertRaisesRegex(
            gpumemtrace.FileError, "^memory://nothing: cannot be opened: there is no such object$"
        ):
            gpumemtrace.open("memory://nothing")
        with self.assertRaisesRegex(gpumemtrace.ArgumentError, "^nosuch://x: Protocol not known: nosuch$"):
            gpumemtrace.open("nosuch://x")

    def test_a_recording_that_fails_is_one_line_among_others(self):
        with open(self.local.paths[0], "rb") as file:
            broken = Failing(file.read())
        job = gpumemtrace.open_job([self.local.paths[1], broken])
        rows = self.rows(job, "files")
        self.assertEqual([row["state"] for row in rows], ["complete", "unreadable"])
        self.assertEqual(rows[1]["message"], "<Failing>: cannot be read: lost connection")
        self.assertEqual({row["rank"] for row in self.rows(job, "sites")}, {1})
        with self.assertRaisesRegex(gpumemtrace.FileError, "lost connection"):
            self.rows(gpumemtrace.open_job([broken], strict=True), "sites")

    def test_tasks_are_divided_by_the_sizes_of_objects(self):
        found = files.find("memory://bucket/run1")
        self.assertEqual(set(found.sizes), set(found.paths))
        self.assertTrue(all(found.sizes.values()))
        large = dict.fromkeys(found.paths, files.TASK_BYTES)
        self.assertEqual(len(files.tasks(found.paths, 64, found.sizes)), 1)
        self.assertEqual(len(files.tasks(found.paths, 64, large)), 8)

    def test_dask_and_export_read_addresses_and_refuse_file_objects(self):
        # Other processes do not see this memory: so files, by an address.
        address = "file://" + self.folder
        sites = gpumemtrace.dask.read(address, "sites", layer="torch").compute()
        self.assertEqual(len(sites), len(self.rows(self.local, "sites", layer="torch")))
        out = cli.place("exported")
        done = gpumemtrace.export(address, out, tables=["process", "files"], storage_options={"auto_mkdir": False})
        self.assertEqual((done.recordings, done.rows["process"], done.unreadable), (8, 8, 0))
        with open(self.local.paths[0], "rb") as file:
            for call in (
                lambda: gpumemtrace.dask.read([file], "sites"),
                lambda: gpumemtrace.export(file, cli.place("refused")),
            ):
                with self.assertRaisesRegex(gpumemtrace.ArgumentError, "give paths or addresses, not file objects"):
                    call()
        with self.assertRaisesRegex(gpumemtrace.ArgumentError, "storage_options: export sends them"):
            gpumemtrace.export(address, cli.place("refused"), storage_options={"key": object()})


if __name__ == "__main__":
    tap.main()
