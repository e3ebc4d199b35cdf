# SPDX-License-Identifier: MIT
"""Runs `report --html` and compares the page's data with `report --json`."""

import collections
import os
import subprocess
import unittest

import cli
import page_packets

# The program with the template of tests/cli/page.
CLI = os.environ.get("GMT_TEST_PAGE_CLI", os.path.join(cli.BUILD, "tests", "cli", "gpumemtrace-with-page"))


def run(*arguments, program=CLI, cwd=cli.FOLDER, **more):
    return subprocess.run(
        [program, *arguments], capture_output=True, text=True, timeout=300, cwd=cwd, env=cli.PLAIN, **more
    )


def frames_of(packet):
    """Returns the stack of each site of the page, leaf first, as the texts of its frames."""
    strings, header = packet.header["strings"], packet.header
    places = [
        (
            ("native", "python")[kind],
            *(strings[number] or None for number in (function, file)),
            line or None,
            strings[module] or None,
        )
        for kind, function, file, line, module in zip(
            *(packet[f"place.{key}"] for key in ("kind", "function", "file", "line", "module"))
        )
    ]
    parents, stacks = packet["node.parent"], []
    assert header and all(parent < number for number, parent in enumerate(parents) if number)
    for leaf in packet["site.node"]:
        node, stack = leaf, []
        while node:
            stack.append(places[packet["node.place"][node]])
            node = parents[node]
        stacks.append(tuple(stack))
    return stacks


def keys_of(packet):
    """Returns for each site of the page what identifies it in a report: layer, device, space and stack."""
    layers, spaces = packet.header["layers"], packet.header["spaces"]
    return [
        (layers[layer], None if device == -1 else device, spaces[space], stack)
        for layer, device, space, stack in zip(
            packet["site.layer"], packet["site.device"], packet["site.space"], frames_of(packet)
        )
    ]


def key_of_report(site):
    """Returns the same for a site of a report."""
    stack = tuple(
        tuple(frame.get(key) or None for key in ("kind", "function", "file", "line", "module"))
        for frame in site["stack"]
    )
    return site["layer"], site["device"], site["space"], stack


def sums_of_report(report, *keys):
    """Returns the numbers of the report's sites by their identity. Sites that look the same are added up."""
    sums = collections.defaultdict(lambda: [0] * len(keys))
    for site in report["sites"]:
        total = sums[key_of_report(site)]
        for i, key in enumerate(keys):
            total[i] += site[key]
    return dict(sums)


def accounts_of(report):
    """Yields each layer of a report with its device, as the page counts devices."""
    for device in report["devices"]:
        for layer in device["layers"]:
            yield device["device"], layer
    yield -1, {"layer": "cuda", **report["host"]}


class PageChecks(unittest.TestCase):
    # pairs of a column of the page and a key of `report --json`
    COLUMNS = (
        ("peak_bytes", "peak_bytes"),
        ("peak_blocks", "peak_blocks"),
        ("live_bytes", "live_bytes"),
        ("live_blocks", "live_blocks"),
        ("left_bytes", "left_bytes"),
        ("max_live_bytes", "max_live_bytes"),
        ("total_bytes", "total_bytes"),
        ("alloc_count", "allocs"),
        ("free_count", "frees"),
    )

    def page(self, *paths, options=(), code=0):
        target = cli.place("page.html")
        done = run("report", f"--html={target}", *options, *paths)
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        return page_packets.Page(target)

    def check_sums(self, page, number=0):
        """Checks each layer of the recording: the sites sum to the totals of each bucket. Returns the layers."""
        found = {}
        for device in page.devices(number):
            packet = page.device(device, number)
            for header in packet.header["layers"]:
                layer = found[device, header["layer"]] = packet.layer(header["layer"])
                end = 0
                for bucket, at_max, live in layer.states():
                    self.assertEqual(sum(at_max.values()), bucket.max_bytes, bucket.index)
                    self.assertEqual(sum(live.values()), bucket.end_bytes, bucket.index)
                    self.assertGreaterEqual(min(at_max.values(), default=0), 0)
                    self.assertGreaterEqual(min(live.values(), default=0), 0)
                    if bucket.begin_event or bucket.begin_ns:
                        self.assertTrue(bucket.min_bytes <= end <= bucket.max_bytes, bucket.index)
                    end = bucket.end_bytes
                    self.assertTrue(bucket.min_bytes <= end <= bucket.max_bytes, bucket.index)
                    numbers = [entry["site"] for entry in bucket.entries]
                    self.assertEqual(numbers, sorted(set(numbers)))
                self.check_times(layer)
                self.check_phases(packet, layer)
        return found

    def check_times(self, layer):
        begins, maxima = layer.column("begin_ns"), layer.column("max_ns")
        self.assertEqual(begins[0], 0)
        for i, (begin, end) in enumerate(zip(begins, [*begins[1:], 1 << 60])):
            self.assertLess(begin, end)
            self.assertTrue(begin <= maxima[i] < end, (begin, maxima[i], end))
        events = layer.column("begin_event")
        self.assertEqual(events, sorted(events))
        fine = layer.column("fine.begin_ns")
        self.assertEqual(fine, sorted(fine))
        self.assertEqual(max(layer.column("fine.max_bytes")), layer.header["peak_bytes"])
        self.assertLessEqual(len(fine), 65536)
        self.assertLessEqual(len(begins), 2 * 4096 + 1)

    def check_phases(self, packet, layer):
        names = layer.header["phase_names"]
        if names:
            by_phase = layer.column("phase.at_max")
            for bucket in layer.buckets:
                row = by_phase[bucket.index * len(names) : (bucket.index + 1) * len(names)]
                self.assertEqual(sum(row), bucket.max_bytes)
                self.assertGreaterEqual(min(row), 0)
        self.assertTrue(packet.columns)

    def check_peaks(self, layers, report):
        """Checks that the buckets have the report's peaks and ends."""
        for device, layer in accounts_of(report):
            if (device, layer["layer"]) not in layers:
                self.assertEqual(layer["alloc_count"], 0)
                continue
            history = layers[device, layer["layer"]]
            largest = max(history.buckets, key=lambda bucket: bucket.max_bytes)
            self.assertEqual(largest.max_bytes, layer["peak_bytes"])
            self.assertEqual(history.header["peak_bytes"], layer["peak_bytes"])
            if layer["peak_bytes"]:
                self.assertEqual(largest.max_ns, layer["peak_time_ns"])
            self.assertEqual(history.buckets[-1].end_bytes, layer["left_bytes"])
            allocs = sum(entry["allocs"] for bucket in history.buckets for entry in bucket.entries)
            frees = sum(entry["frees"] for bucket in history.buckets for entry in bucket.entries)
            self.assertEqual((allocs, frees), (layer["alloc_count"], layer["free_count"]))

    def check_sites(self, packet, report):
        """Checks that the columns of the sites are the report's."""
        expected = sums_of_report(report, *(key for _, key in self.COLUMNS))
        shown = collections.defaultdict(lambda: [0] * len(self.COLUMNS))
        for number, key in enumerate(keys_of(packet)):
            if number:
                for i, (name, _) in enumerate(self.COLUMNS):
                    shown[key][i] += packet[f"site.{name}"][number]
        self.assertEqual({key: row for key, row in shown.items() if key in expected or any(row)}, expected)
        texts = collections.Counter(
            (packet.header["categories"][category], packet.header["owners"][owner])
            for category, owner in list(zip(packet["site.category"], packet["site.owner"]))[1:]
        )
        expected_texts = collections.Counter((site["category"], site["owner"]) for site in report["sites"])
        self.assertFalse(expected_texts - texts)

    def check_boundary(self, path, page, layer_of, index):
        """Checks the state at the beginning of a bucket, compared with a report until that moment."""
        (device, name), layer = layer_of
        keys, live = keys_of(page.recording()), collections.Counter()
        allocated = collections.Counter()
        begin = layer.buckets[index].begin_ns
        report = cli.report(path, f"--until={begin - 1}")
        self.assertEqual(report["events"]["replayed"], layer.buckets[index].begin_event)
        for bucket in layer.buckets[:index]:
            for entry in bucket.entries:
                live[keys[entry["site"]]] += entry["allocated"] - entry["freed"]
                allocated[keys[entry["site"]]] += entry["allocated"]
        expected = sums_of_report(report, "left_bytes", "total_bytes")
        own = {
            key: row for key, row in expected.items() if key[0] == name and key[1] == (None if device < 0 else device)
        }
        self.assertEqual(+live, +collections.Counter({key: row[0] for key, row in own.items()}))
        self.assertEqual(+allocated, +collections.Counter({key: row[1] for key, row in own.items()}))
        return allocated

    def check_page(self, path, boundaries=(0.1, 0.5, 0.9), options=()):
        """Checks the whole page of one recording. Returns the page."""
        page, report = self.page(path, options=options), cli.report(path, *options)
        layers = self.check_sums(page)
        self.check_peaks(layers, report)
        self.check_sites(page.recording(), report)
        for layer_of in layers.items():
            for part in boundaries:
                index = int(part * len(layer_of[1].buckets))
                if index and layer_of[1].buckets[index].begin_ns:
                    self.check_boundary(path, page, layer_of, index)
        return page
