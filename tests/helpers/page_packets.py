# SPDX-License-Identifier: MIT
"""Reads the data of a page that `report --html` wrote, as docs/internals/page-data.md describes it."""

import base64
import gzip
import html.parser
import itertools
import json
import struct


class Elements(html.parser.HTMLParser):
    """Collects the script elements with an id as a browser sees them, and the text outside of them."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.scripts, self.tags, self.text, self.open = {}, [], [], None

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.tags.append((tag, attributes))
        if tag == "script" and "id" in attributes:
            assert attributes["id"] not in self.scripts, attributes["id"]
            self.open, self.scripts[attributes["id"]] = attributes["id"], ""

    def handle_endtag(self, tag):
        if tag == "script":
            self.open = None

    def handle_data(self, data):
        if self.open is None:
            self.text.append(data)
        else:
            self.scripts[self.open] += data


def column(row, data, before):
    """Decodes a column. `row` is its row in the header, `before` the columns before it."""
    count, unit, values, value = row["count"], row.get("unit", 1), [], 0
    planes = len(data) // count if count else 0
    assert planes * count == len(data) and planes <= 8, row
    parts = [data[plane * count : (plane + 1) * count] for plane in range(planes)]
    for number in map(int.from_bytes, zip(*parts), itertools.repeat("little")) if parts else [0] * count:
        number = ((number >> 1) ^ -(number & 1)) * unit
        value = value + number if row.get("differences") else number
        values.append(value)
    if "less" in row:
        values = [of - value for of, value in zip(before[row["less"]], values, strict=True)]
    assert all(abs(value) <= 1 << 53 for value in values), row
    return values


class Packet:
    """A packet: `header` is its object, packet["NAME"] a column."""

    def __init__(self, text):
        data = gzip.decompress(base64.b64decode(text, validate=True))
        (length,) = struct.unpack_from("<I", data)
        self.header = json.loads(data[4 : 4 + length].decode("utf-8"))
        start, self.columns, end = 4 + length, {}, 0
        for row in self.header["columns"]:
            assert row["offset"] == end and row["name"] not in self.columns, row
            end += row["bytes"]
            self.columns[row["name"]] = column(row, data[start + row["offset"] : start + end], self.columns)
        assert start + end == len(data), (start + end, len(data))

    def __getitem__(self, name):
        return self.columns[name]

    def layer(self, name):
        """Returns the history of a layer of a device."""
        names = [layer["layer"] for layer in self.header["layers"]]
        return Layer(self, names.index(name))


class Bucket:
    def __init__(self, layer, index, entries):
        self.index, self.entries = index, entries
        for name in "begin_ns", "begin_event", "max_bytes", "max_ns", "min_bytes", "end_bytes":
            setattr(self, name, layer.column(name)[index])


class Layer:
    """A layer of a device, with its buckets and their entries."""

    def __init__(self, packet, number):
        self.packet, self.number, self.header = packet, number, packet.header["layers"][number]
        keys = "site", "at_max", "allocated", "allocs", "freed", "frees"
        rows = list(zip(*(self.column(f"entry.{key}") for key in keys)))
        self.buckets, at = [], 0
        assert len(self.column("begin_ns")) == self.header["buckets"]
        for index, count in enumerate(self.column("entries")):
            self.buckets.append(Bucket(self, index, [dict(zip(keys, row)) for row in rows[at : at + count]]))
            at += count
        assert at == len(rows), (at, len(rows))

    def column(self, name):
        return self.packet[f"{self.number}.{name}"]

    def states(self):
        """Yields each bucket with the sites' bytes at its maximum and at its end, by the page's number of the site."""
        at_max, live = {}, {}
        for bucket in self.buckets:
            for entry in bucket.entries:
                site = entry["site"]
                at_max[site] = at_max.get(site, 0) + entry["at_max"]
                live[site] = live.get(site, 0) + entry["allocated"] - entry["freed"]
            yield bucket, dict(at_max), dict(live)


class Page:
    """A page: its index, and its packets by recording and device."""

    def __init__(self, path):
        with open(path, encoding="utf-8", newline="") as file:
            self.source = file.read()
        self.elements = Elements()
        self.elements.feed(self.source)
        self.elements.close()
        self.index = json.loads(self.elements.scripts["index"])
        self.recordings = self.index["recordings"]

    @property
    def text(self):
        return "".join(self.elements.text)

    def recording(self, number=0):
        return Packet(self.elements.scripts[f"recording-{number}"])

    def device(self, device=0, number=0):
        return Packet(self.elements.scripts[f"device-{number}-{device}"])

    def devices(self, number=0):
        return [row["device"] for row in self.recordings[number]["devices"] if row["packet"]]
