# SPDX-License-Identifier: MIT
"""Recordings from file objects: the same tables and reports as from the file, with no other package and no disk."""

import builtins
import io
import os
import signal
import threading
import time
import unittest

import cli
import stories
import tap

import gpumemtrace


class Reader:
    """A file object that has nothing but read(). `max_bytes` of a call; `fails_at`: the bytes before the failure."""

    def __init__(self, data, max_bytes=1 << 30, fails_at=None, error=None):
        self.data = io.BytesIO(data)
        self.max_bytes = max_bytes
        self.fails_at = fails_at
        self.error = error
        self.threads = set()

    def read(self, size):
        self.threads.add(threading.get_ident())
        if self.fails_at is not None:
            size = min(size, self.fails_at - self.data.tell())
            if not size:
                raise self.error
        return self.data.read(min(size, self.max_bytes))


def loading_threads():
    return [thread for thread in threading.enumerate() if thread.name == "gpumemtrace-load"]


class Streams(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # Larger than the bytes that are read before the loading begins.
        cls.path = cli.make("large.gmt.gz", events=350000, steps=20)
        with open(cls.path, "rb") as file:
            cls.data = file.read()
        assert len(cls.data) > 18 << 18
        cls.small = stories.training("small.gmt.gz")
        with open(cls.small, "rb") as file:
            cls.small_data = file.read()
        cls.recording = gpumemtrace.open(cls.path)

    def same(self, got, expected):
        """Compares recordings, all but their name."""
        self.assertEqual(got.duration_ns, expected.duration_ns)
        self.assertEqual(got.is_complete, expected.is_complete)
        report, expected_report = got.report().raw, expected.report().raw
        self.assertEqual(report.pop("file"), got.path)
        del expected_report["file"]
        self.assertEqual(report, expected_report)

    def test_objects_of_all_kinds_give_the_recording(self):
        read_end, write_end = os.pipe()

        def write():
            with os.fdopen(write_end, "wb") as file:
                file.write(self.data)

        thread = threading.Thread(target=write)
        thread.start()
        with open(self.path, "rb") as file, os.fdopen(read_end, "rb") as pipe:
            for source in (
                io.BytesIO(self.data),
                file,
                pipe,
                Reader(self.data),
                Reader(self.data, max_bytes=777777),
                Reader(self.small_data, max_bytes=1),
            ):
                with self.subTest(source=source), gpumemtrace.open(source) as recording:
                    self.assertEqual(recording.warnings, ())
                    is_small = isinstance(source, Reader) and source.max_bytes == 1
                    expected = gpumemtrace.open(self.small) if is_small else self.recording
                    self.same(recording, expected)
                    if isinstance(source, Reader):
                        self.assertEqual(source.threads, {threading.get_ident()})
        thread.join()
        self.assertEqual(loading_threads(), [])

    def test_the_bytes_begin_at_the_position(self):
        source = io.BytesIO(b"before" + self.small_data)
        source.seek(6)
        with gpumemtrace.open(source) as recording:
            self.same(recording, gpumemtrace.open(self.small))
        self.assertEqual(recording.path, "<BytesIO>")

    def test_all_reports_read_the_object_again(self):
        expected = gpumemtrace.open(self.small)
        for source in io.BytesIO(self.small_data), Reader(self.small_data):
            recording = gpumemtrace.open(source)
            self.assertEqual(recording.leaks().findings, expected.leaks().findings)
            self.assertEqual(recording.check(max_peak="1GiB").verdict, expected.check(max_peak="1GiB").verdict)
            newer = stories.training("newer.gmt.gz", steps=20)
            with open(newer, "rb") as file:
                diff = recording.diff(file)
                self.assertEqual(diff.changes, expected.diff(newer).changes)
                sides = [diff.raw[side]["file"] for side in ("base", "new")]
                self.assertEqual(sides, [recording.path, newer])
            with self.assertRaisesRegex(gpumemtrace.Error, r"<(BytesIO|Reader)>: there is no step 99"):
                recording.report(until="step:99")
        source.data.close()
        self.assertEqual(recording.leaks().findings, expected.leaks().findings)

    def test_a_closed_object_raises_its_own_error(self):
        with open(self.small, "rb") as file:
            recording = gpumemtrace.open(file)
        with self.assertRaisesRegex(ValueError, "closed file"):
            recording.report()

    def test_exceptions_of_read_are_raised_as_they_are(self):
        for fails_at in 0, 1, 100000, 1 << 20, len(self.data) - 1, len(self.data):
            for error in OSError(5, "lost"), KeyError("x"), KeyboardInterrupt():
                with self.assertRaises(type(error)) as caught:
                    gpumemtrace.open(Reader(self.data, fails_at=fails_at, error=error))
                self.assertIs(caught.exception, error)
        for _ in range(100):
            if not loading_threads():
                break
            time.sleep(0.05)
        self.assertEqual(loading_threads(), [])

    def test_an_interrupt_while_read_waits_arrives(self):
        begun, never = threading.Event(), threading.Event()

        class Slow(Reader):
            def read(self, size):
                if self.data.tell() > 17 << 18:
                    begun.set()
                    never.wait(60)
                return super().read(size)

        def interrupt():
            begun.wait(60)
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

        thread = threading.Thread(target=interrupt)
        thread.start()
        begin = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            gpumemtrace.open(Slow(self.data))
        self.assertLess(time.monotonic() - begin, 50)
        thread.join()

    def test_a_stream_that_ends_early_is_a_damaged_recording(self):
        with gpumemtrace.open(Reader(self.data[: len(self.data) // 2])) as recording:
            self.assertTrue(recording.is_damaged)
            self.assertRegex(recording.warnings[0], "^<Reader>: it ends in the middle")
            self.assertGreater(recording.report().raw["events"]["recorded"], 1000)

    def test_other_bytes_are_not_read_to_their_end(self):
        source = Reader(b"x" * (64 << 20))
        with self.assertRaisesRegex(gpumemtrace.FormatError, "^<Reader>: is not a gzip file"):
            gpumemtrace.open(source)
        self.assertLess(source.data.tell(), 16 << 20)
        with self.assertRaisesRegex(gpumemtrace.FormatError, "^<BytesIO>: is empty$"):
            gpumemtrace.open(io.BytesIO())

    def test_what_is_no_binary_file_object_is_named(self):
        for source, why in (
            (io.StringIO("text"), "<StringIO>: the file object gives text"),
            (io.TextIOWrapper(io.BytesIO(b"text")), "<TextIOWrapper>: the file object gives text"),
        ):
            with self.assertRaisesRegex(gpumemtrace.ArgumentError, why):
                gpumemtrace.open(source)

        with self.assertRaisesRegex(TypeError, "7 is no path, no address and no file object"):
            gpumemtrace.open(7)

        class Empty:
            def read(self, size):
                return None

        with self.assertRaises(BlockingIOError):
            gpumemtrace.open(Empty())

    def test_no_file_is_written(self):
        opened = []
        original = builtins.open

        def watched(file, mode="r", *more, **options):
            opened.append((file, mode))
            return original(file, mode, *more, **options)

        builtins.open = io.open = watched
        try:
            before = set(os.listdir("/tmp"))
            gpumemtrace.open(Reader(self.small_data)).report()
            self.assertEqual({name for name in set(os.listdir("/tmp")) - before if "gpumemtrace-" in name}, set())
        finally:
            builtins.open = io.open = original
        self.assertEqual([mode for _, mode in opened if set(mode) & set("wax+")], [])

    def test_descriptors_and_memory_are_given_back(self):
        gpumemtrace.open(Reader(self.small_data)).report()
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(20):
            recording = gpumemtrace.open(Reader(self.small_data))
            recording.report()
            recording.close()
            del recording
        self.assertEqual(len(os.listdir("/proc/self/fd")), before)

    def test_many_threads_open_streams_at_once(self):
        results = []

        def work():
            with gpumemtrace.open(Reader(self.data)) as recording:
                results.append(recording.duration_ns)

        threads = [threading.Thread(target=work) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(results, [self.recording.duration_ns] * 6)

    def test_the_interpreter_runs_on_while_the_library_loads(self):
        """Another thread counts while the main thread waits for the library: the GIL is free."""
        counted = [0]
        ends = threading.Event()

        def count():
            while not ends.is_set():
                counted[0] += 1
                time.sleep(0.0005)

        thread = threading.Thread(target=count)
        thread.start()
        source = Reader(self.data)
        try:
            recording = gpumemtrace.open(source)
        finally:
            ends.set()
            thread.join()
        self.assertTrue(recording.is_complete)
        self.assertGreater(counted[0], 20)

    def test_an_address_without_fsspec_says_what_to_install(self):
        import sys

        kept = sys.modules.get("fsspec", self)
        sys.modules["fsspec"] = None
        try:
            with self.assertRaisesRegex(
                gpumemtrace.InstallationError, "s3://b/x: this needs fsspec: pip install fsspec"
            ):
                gpumemtrace.open("s3://b/x")
        finally:
            if kept is self:
                del sys.modules["fsspec"]
            else:
                sys.modules["fsspec"] = kept


if __name__ == "__main__":
    tap.main()
