# SPDX-License-Identifier: MIT
"""`gpumemtrace top` serves metrics to Prometheus, and writes them into a file."""

import http.client
import json
import os
import re
import socket
import subprocess
import time
import unittest

import tap
import tasks
from recorded_run import CLI
from running import MiB, Running, gpu, wait_for_row


def samples(text):
    """Returns {(name, labels): value} of a text in OpenMetrics. Checks what the format demands."""
    found, types, family = {}, {}, None
    lines = text.split("\n")
    assert lines[-2:] == ["# EOF", ""], lines[-2:]
    for line in lines[:-2]:
        if line.startswith("# TYPE "):
            family, kind = line[7:].split(" ")
            assert family not in types, family
            types[family] = kind
            continue
        if line.startswith("#"):
            assert line.split(" ")[2] == family, line
            continue
        match = re.fullmatch(r'(\w+)\{((?:\w+="(?:[^"\\\n]|\\["\\n])*",?)*)\} (\d+)', line)
        assert match, line
        name, labels, value = match.groups()
        assert name == family + ("_total" if types[family] == "counter" else ""), (name, family)
        assert types[family] != "gauge" or name.endswith("_bytes"), name
        assert (name, labels) not in found, line
        found[name, labels] = int(value)
    return found


def value_of(found, name, *labels):
    (value,) = [value for key, value in found.items() if key[0] == name and all(label in key[1] for label in labels)]
    return value


class Serving:
    """`top --metrics-listen` with its address."""

    def __init__(self, run, *arguments):
        self.process = subprocess.Popen(
            [CLI, "top", "--metrics-listen=0", "--interval=100ms", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            env=run.environment,
        )
        self.address = re.search(r"http://(127\.0\.0\.1:\d+)/metrics", self.process.stderr.readline()).group(1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.communicate()

    def ask(self, method="GET", path="/metrics"):
        connection = http.client.HTTPConnection(self.address, timeout=tasks.WAIT_LIMIT_S)
        connection.request(method, path)
        response = connection.getresponse()
        return response, response.read().decode()

    def connect(self):
        host, port = self.address.split(":")
        return socket.create_connection((host, int(port)), timeout=tasks.WAIT_LIMIT_S)


class Metrics(unittest.TestCase):
    def test_the_server_gives_the_numbers_of_the_process(self):
        with Running(environment={"RANK": "3"}) as run:
            run.send("alloc 1048576", "refuse")
            own = f'pid="{run.process.pid}"'
            with Serving(run) as serving:

                def look():
                    response, text = serving.ask()
                    self.assertEqual(response.status, 200)
                    self.assertIn("application/openmetrics-text", response.headers["Content-Type"])
                    found = samples(text)
                    held = [
                        value for key, value in found.items() if key[0] == "gpumemtrace_cuda_bytes" and own in key[1]
                    ]
                    return [found] if any(held) else None

                found = tasks.wait_until(look, "the block in the metrics")[0]
                labels = (own, 'rank="3"', 'program="control"', 'device="0"')
                self.assertEqual(value_of(found, "gpumemtrace_cuda_bytes", *labels), MiB)
                self.assertEqual(value_of(found, "gpumemtrace_refused_requests_total", *labels[:3]), 1)
                self.assertGreater(value_of(found, "gpumemtrace_total_bytes", *labels), 0)
                run.send("alloc 1048576")
                tasks.wait_until(
                    lambda: value_of(samples(serving.ask()[1]), "gpumemtrace_cuda_bytes", *labels) == 2 * MiB,
                    "the second block in the metrics",
                )

    def test_the_server_answers_bad_requests_and_no_client_blocks_another(self):
        with Running() as run:
            run.send("alloc 1048576")
            with Serving(run) as serving:
                self.assertEqual(serving.ask(path="/")[0].status, 200)
                self.assertEqual(serving.ask(path="/x")[0].status, 404)
                self.assertEqual(serving.ask(method="POST")[0].status, 405)
                response, text = serving.ask(method="HEAD")
                self.assertEqual((response.status, text), (200, ""))
                self.assertGreater(int(response.headers["Content-Length"]), 0)
                silent = [serving.connect() for _ in range(5)]
                with serving.connect() as long:
                    long.sendall(b"x" * 9000)
                    self.assertIn(b"431", long.recv(100))
                with serving.connect() as odd:
                    odd.sendall(b"\0\r\n\r\n")
                    self.assertIn(b"400", odd.recv(100))
                self.assertEqual(serving.ask()[0].status, 200)
                for connection in silent:
                    connection.close()

    def test_the_file_is_whole_at_any_moment_and_only_replaced(self):
        with Running() as run:
            run.send("alloc 1048576")
            path = os.path.join(run.folder, "metrics.prom")
            process = subprocess.Popen(
                [CLI, "top", f"--metrics-file={path}", "--interval=100ms", run.pid()],
                stdout=subprocess.PIPE,
                env=run.environment,
            )
            tasks.wait_until(lambda: os.path.exists(path), "the file of metrics")
            inodes = set()
            for step in range(200):
                with open(path) as file:
                    samples(file.read())
                    inodes.add(os.fstat(file.fileno()).st_ino)
                time.sleep(0.01)
            self.assertGreater(len(inodes), 1)
            run.end()
            self.assertEqual((process.communicate(timeout=tasks.WAIT_LIMIT_S)[0], process.returncode), (b"", 0))
            with open(path) as file:
                self.assertEqual(value_of(samples(file.read()), "gpumemtrace_cuda_bytes", 'device="0"'), MiB)
            self.assertEqual([name for name in os.listdir(run.folder) if "unfinished" in name], [])

    def test_a_recording_is_not_overwritten(self):
        with Running() as run:
            run.send("alloc 1048576")
            run.end()
            with open(run.path, "rb") as file:
                before = file.read()
            done = run.run_cli("top", "-n", "1", f"--metrics-file={run.path}", run.path)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("is a recording and was not overwritten", done.stderr)
            with open(run.path, "rb") as file:
                self.assertEqual(file.read(), before)

    def test_a_full_disk_ends_top_with_a_message(self):
        with Running() as run:
            run.send("alloc 1048576")
            done = run.run_cli("top", "-n", "2", "--metrics-file=/dev/full", run.pid())
            self.assertEqual(done.returncode, 3)
            self.assertEqual(done.stderr, "gpumemtrace: error: /dev/full: No space left on device\n")

    def test_the_dashboard_uses_only_metrics_that_exist(self):
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3)
        with open(os.path.join(source, "docs", "examples", "grafana.json")) as file:
            dashboard = file.read()
        with Running() as run:
            run.send("alloc 1048576")
            wait_for_row(run, lambda row: gpu(row)["cuda_bytes"])
            path = os.path.join(run.folder, "metrics.prom")
            self.assertEqual(run.run_cli("top", f"--metrics-file={path}", "-n", "1", run.pid()).returncode, 0)
            with open(path) as file:
                families = set(re.findall("^# TYPE (\\S+) (\\S+)$", file.read(), re.M))
        names = {family + ("_total" if kind == "counter" else "") for family, kind in families}
        used = set(re.findall(r"gpumemtrace_\w+", dashboard))
        self.assertGreater(len(used), 5)
        self.assertLessEqual(used, names)
        self.assertTrue(json.loads(dashboard)["panels"])


if __name__ == "__main__":
    tap.main()
