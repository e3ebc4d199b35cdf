# SPDX-License-Identifier: MIT
"""Recordings on a local S3 server (moto) and a web server: the same as the files. Only with --long."""

import functools
import http.server
import logging
import os
import subprocess
import sys
import threading
import unittest

import stories

if not os.environ.get("GMT_TEST_LONG"):
    print("1..0 # SKIP the S3 server is large: scripts/test --long")
    sys.exit(0)
stories.enter_environment(os.path.abspath(__file__), "data-engine", "s3")

import cli  # noqa: E402 (these need the environment)
import engine_job  # noqa: E402
import s3fs  # noqa: E402
import tap  # noqa: E402
from moto.server import ThreadedMotoServer  # noqa: E402

import gpumemtrace  # noqa: E402

os.environ.update(AWS_EC2_METADATA_DISABLED="true", AWS_CONFIG_FILE="/dev/null", AWS_DEFAULT_REGION="us-east-1")
logging.getLogger("werkzeug").setLevel(logging.ERROR)
BUCKET = "recordings"


class ServerWithoutRanges(http.server.SimpleHTTPRequestHandler):
    """A web server that always sends whole files. It prints no log."""

    def log_message(self, *_):
        pass


class ObjectStores(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        cls.server.start()
        cls.addClassCleanup(cls.server.stop)
        host, port = cls.server.get_host_and_port()
        cls.options = {"key": "testing", "secret": "testing", "endpoint_url": f"http://{host}:{port}"}
        cls.store = s3fs.S3FileSystem(**cls.options)
        cls.store.call_s3("create_bucket", Bucket=BUCKET)
        cls.folder = engine_job.write("run1")
        cls.store.put(cls.folder, f"{BUCKET}/run1", recursive=True)
        cls.local = gpumemtrace.open_job(cls.folder)
        cls.large = cli.make("large.gmt.gz", events=600000, steps=20)
        cls.store.put(cls.large, f"{BUCKET}/large.gmt.gz")

    def rows(self, job, table):
        rows = job.table(table).to_pyarrow().to_pylist()
        # The only column that differs.
        return [{name: value for name, value in row.items() if name != "path"} for row in rows]

    def same(self, source, path, **options):
        with gpumemtrace.open(source, **options) as got, gpumemtrace.open(path) as expected:
            self.assertEqual(got.warnings, ())
            table, expected_table = (one.table("blocks").to_pyarrow() for one in (got, expected))
            self.assertTrue(table.equals(expected_table))
            self.assertEqual(got.leaks().findings, expected.leaks().findings)

    def test_an_object_has_the_tables_and_reports_of_the_file(self):
        self.same(f"s3://{BUCKET}/large.gmt.gz", self.large, storage_options=self.options)
        with self.store.open(f"{BUCKET}/large.gmt.gz", "rb", block_size=5 << 20) as file:
            self.same(file, self.large)

    def test_patterns_and_prefixes_have_the_rows_of_the_folder(self):
        for name in "run1/*.gmt.gz", "run1", "run1/":
            job = gpumemtrace.open_job(f"s3://{BUCKET}/{name}", storage_options=self.options)
            self.assertEqual(
                [os.path.basename(path) for path in job.paths], [os.path.basename(p) for p in self.local.paths]
            )
            for table in "sites", "events", "process":
                self.assertEqual(self.rows(job, table), self.rows(self.local, table))

    def test_export_reads_the_bucket(self):
        out = cli.place("tables")
        done = gpumemtrace.export(f"s3://{BUCKET}/run1", out, tables=["sites"], storage_options=self.options)
        self.assertEqual((done.recordings, done.unreadable), (8, 0))
        self.assertEqual(done.rows["sites"], len(self.rows(self.local, "sites")))

    def test_the_verb_export_takes_the_settings_of_the_environment(self):
        environment = {
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",
            "AWS_ENDPOINT_URL": self.options["endpoint_url"],
        }
        words = [
            "-o",
            cli.place("by-verb"),
            "--table=process",
            f"--python={sys.executable}",
            f"s3://{BUCKET}/run1/*.gmt.gz",
        ]
        done = cli.run("export", *words, environment=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("8 recordings of 1 job, 8 rows", done.stdout)

    def test_a_pipe_gives_the_report_of_the_file(self):
        expected = cli.run("report", "--json", self.large).stdout.replace(self.large, "-")
        process = subprocess.Popen(
            [cli.CLI, "report", "--json", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=cli.PLAIN
        )
        with process.stdin, self.store.open(f"{BUCKET}/large.gmt.gz", "rb") as file:
            while part := file.read(1 << 20):
                process.stdin.write(part)
        self.assertEqual(process.stdout.read().decode(), expected)
        process.stdout.close()
        self.assertEqual(process.wait(), 0)

    def test_cut_and_missing_objects(self):
        with open(self.large, "rb") as file:
            self.store.pipe(f"{BUCKET}/cut.gmt.gz", file.read(2 << 20))
        with gpumemtrace.open(f"s3://{BUCKET}/cut.gmt.gz", storage_options=self.options) as recording:
            self.assertTrue(recording.is_damaged)
            self.assertIn(f"s3://{BUCKET}/cut.gmt.gz: it ends in the middle", recording.warnings[0])
        for name, why in (
            (f"{BUCKET}/nothing.gmt.gz", "there is no such object"),
            ("no-such-bucket/x.gmt.gz", ""),
        ):
            with self.assertRaisesRegex(gpumemtrace.FileError, f"^s3://{name}: cannot be opened: {why}") as caught:
                gpumemtrace.open(f"s3://{name}", storage_options=self.options)
            self.assertNotIn("\n", str(caught.exception))
        with self.assertRaisesRegex(gpumemtrace.FileError, "^no recording was found; s3://recordings/none/"):
            gpumemtrace.open_job(f"s3://{BUCKET}/none/*.gmt.gz", storage_options=self.options)

    def test_an_object_that_vanishes_in_the_middle_raises_the_error_of_its_reader(self):
        self.store.put(self.large, f"{BUCKET}/vanishes.gmt.gz")
        file = self.store.open(f"{BUCKET}/vanishes.gmt.gz", "rb", block_size=1 << 20, cache_type="readahead")
        read, calls = file.read, []

        def read_and_remove(size):
            calls.append(size)
            if len(calls) == 10:
                self.store.rm(f"{BUCKET}/vanishes.gmt.gz")
            return read(size)

        file.read = read_and_remove
        with self.assertRaises(FileNotFoundError) as caught:
            gpumemtrace.open(file)
        self.assertNotIsInstance(caught.exception, gpumemtrace.Error)

    def test_wrong_credentials_and_no_server_are_one_line(self):
        with self.assertRaises(gpumemtrace.FileError) as caught:
            gpumemtrace.open(
                f"s3://{BUCKET}/large.gmt.gz",
                storage_options={
                    **self.options,
                    "endpoint_url": "http://127.0.0.1:1",
                    "config_kwargs": {"retries": {"max_attempts": 0}},
                },
            )
        self.assertRegex(str(caught.exception), "^s3://recordings/large.gmt.gz: cannot be opened: .*127.0.0.1:1")
        self.assertNotIn("\n", str(caught.exception))

    def test_a_web_server_without_ranges(self):
        handler = functools.partial(ServerWithoutRanges, directory=cli.FOLDER)
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            base = f"http://127.0.0.1:{server.server_address[1]}"
            self.same(f"{base}/large.gmt.gz", self.large)
            job = gpumemtrace.open_job(f"{base}/large.gmt.gz?signature=x")
            self.assertEqual(len(self.rows(job, "process")), 1)
            with self.assertRaisesRegex(
                gpumemtrace.FileError, f"^{base}/none: cannot be opened: there is no such object"
            ):
                gpumemtrace.open(f"{base}/none")
            server.shutdown()


if __name__ == "__main__":
    tap.main()
