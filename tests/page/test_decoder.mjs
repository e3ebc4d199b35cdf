// SPDX-License-Identifier: MIT
// Modules of the page without a browser: decoding packets, formatting numbers, the state in the URL.
import { gzipSync } from "node:zlib";
import { join } from "node:path";
import { writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { check, equal, folder, here, load, runTests, test } from "./harness.mjs";

const esbuild = load("esbuild");
globalThis.location = { hash: "" };
globalThis.window = { addEventListener() {} };

async function module(path) {
  const built = await esbuild.build({ entryPoints: [join(here, "../../page/src", path)], bundle: true, format: "esm", write: false, logLevel: "error" });
  const out = join(folder, `${path.replace(/\W/g, "-")}.mjs`);
  writeFileSync(out, built.outputFiles[0].text);
  return import(pathToFileURL(out));
}

const packet = await module("data/packet.ts");
const format = await module("ui/format.ts");
const state = await module("state/state.ts");
const buckets = await module("model/buckets.ts");
const names = await module("model/names.ts");
const moments = await module("model/moments.ts");

/** Encodes numbers: all first bytes, then all second bytes, and so on. */
function encode(values) {
  const raw = values.map(BigInt).map((value) => (value >= 0n ? value * 2n : -value * 2n - 1n));
  const bytes = [];
  for (let left = raw; left.some((value) => value > 0n); left = left.map((value) => value >> 8n)) bytes.push(...left.map((value) => Number(value & 255n)));
  return Uint8Array.from(bytes);
}

const differencesOf = (values) => values.map((value, at) => value - (values[at - 1] ?? 0));

/** Encodes a packet. `more` maps names of columns to their other keys. */
function pack(header, columns, more = {}) {
  const bodies = Object.entries(columns).map(([name, values]) => ({ name, data: encode(values), count: values.length }));
  let offset = 0;
  const places = bodies.map(({ name, data, count }) => {
    const place = { name, offset, bytes: data.length, count, ...more[name] };
    offset += data.length;
    return place;
  });
  const head = Buffer.from(JSON.stringify({ ...header, columns: places }));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(head.length);
  return gzipSync(Buffer.concat([length, head, ...bodies.map(({ data }) => Buffer.from(data))])).toString("base64");
}

async function refuses(promise, word) {
  try {
    await promise;
  } catch (error) {
    check(error.message.includes(word), `another error: ${error.message}`);
    return;
  }
  throw new Error(`no error, but ${word} was expected`);
}

const decode = (values, more = {}, of = undefined) => [...packet.decodeColumn(encode(values), { name: "a", count: values.length, ...more }, of)];

test("a column decodes to its integers, up to 2^53 and below zero", () => {
  const values = [0, -1, 1, 5, 5, 2 ** 31, 2 ** 32 + 1, 2 ** 53 - 1, 0, -(2 ** 40), 3, 2 ** 53, -(2 ** 53)];
  equal(decode(values), values);
  equal(decode(differencesOf(values.slice(0, -1)), { differences: true }), values.slice(0, -1));
});

test("a column of zeros has no bytes", () => {
  equal(encode([0, 0, 0]).length, 0);
  equal([decode([0, 0, 0]), decode([])], [[0, 0, 0], []]);
});

test("a column has a unit, and is subtracted from another one", () => {
  equal(decode([1, -2, 3], { unit: 512 }), [512, -1024, 1536]);
  equal(decode([1, 1, -1], { unit: 512, differences: true }), [512, 1024, 512]);
  equal(decode([1, 0, -1], { unit: 10 }, Float64Array.of(10, 20, 30)), [0, 20, 40]);
});

test("a column whose bytes are not those of its numbers is refused", () => refuses((async () => packet.decodeColumn(Uint8Array.of(2, 2, 2), { name: "a", count: 2 }))(), "does not have 2 numbers"));

test("a column that is subtracted from a shorter one, or from itself, is refused", async () => {
  const found = await packet.decodePacket(pack({}, { a: [1], b: [1, 2], c: [1] }, { b: { less: "a" }, c: { less: "c" } }));
  await refuses((async () => found.column("b"))(), "column b does not have 2 numbers");
  await refuses((async () => found.column("c"))(), "column c does not have 1 numbers");
});

test("a packet gives its header and its columns", async () => {
  const found = await packet.decodePacket(` ${pack({ device: 3, text: "\u00e9</script>" }, { a: [1, 2, 3], b: [-7], c: [] })}\n`);
  equal(found.header.device, 3);
  equal(found.header.text, "\u00e9</script>");
  equal([...found.column("a")], [1, 2, 3]);
  equal([...found.column("b")], [-7]);
  equal([...(await packet.decodePacket(pack({}, { d: [3, 0], a: [4, 6] }, { d: { less: "a" } }))).column("d")], [1, 6]);
  equal([found.column("c").length, found.column("missing").length, found.has("c"), found.has("missing")], [0, 0, true, false]);
});

test("a packet whose header is cut is refused", () => {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(100);
  return refuses(packet.decodePacket(gzipSync(length).toString("base64")), "cut");
});

test("text that is no gzip stream is refused", () => refuses(packet.decodePacket("AAAA"), ""));

test("sizes, times and counts have the text that the program prints", () => {
  equal([0, 1023, 1024, 1536, 10235, 1047552, 1048064, 586458624, 85899345920].map(format.size), ["0 B", "1023 B", "1.00 KiB", "1.50 KiB", "10.0 KiB", "1023 KiB", "1.00 MiB", "559 MiB", "80.0 GiB"]);
  equal([5, 1500, 2500000, 3577606351, 119e9, 121e9, 7201e9].map(format.duration), ["5 ns", "1.50 us", "2.50 ms", "3.58 s", "119 s", "2 min 01 s", "2 h 00 min"]);
  equal([0, 999, 1000, 1234567].map(format.count), ["0", "999", "1,000", "1,234,567"]);
  equal([format.percent(0, 10), format.percent(1, 10000), format.percent(51, 100), format.percent(1, 0)], ["0 %", "< 0.1 %", "51 %", ""]);
});

test("characters that turn text around or that terminals obey are replaced", () => {
  equal(format.clean("a\u202eb\u001b[31mc\u0000"), "a\ufffdb\ufffd[31mc\ufffd");
  equal(format.clean("x".repeat(5000)).length, 2001);
});

test("the state survives the way through the URL", () => {
  const given = { ...state.parseHash(""), view: "flame", cursor: 12345678901234, from: 5, to: 6, search: "a&b=c#d%", inverted: true, recording: 63 };
  equal(state.parseHash(state.formatHash(given)), given);
  equal(state.formatHash(state.parseHash("#recording=x&cursor=NaN&evil=1")), "#");
});

test("a range covers the buckets that it touches, and not the one at which it ends", () => {
  const layer = { buckets: 4, beginNs: [0, 10, 20, 30] };
  equal([buckets.bucketsOf(layer, 10, 20), buckets.bucketsOf(layer, 5, 21), buckets.bucketsOf(layer, null, null), buckets.bucketsOf(layer, 30, 99)], [[1, 1], [0, 2], [0, 3], [3, 3]]);
});

test("two steps that end in one bucket have the bytes of the boundary that the program counted", () => {
  // One site: 100 bytes at the end of the first bucket, 300 at the end of the second. The page lacks a block.
  const layer = {
    name: "torch",
    buckets: 3,
    beginNs: [0, 10, 20],
    endBytes: [100, 300, 300],
    firstEntry: [0, 1, 2, 2],
    entrySite: [0, 0],
    entryAllocated: [100, 250],
    entryFreed: [0, 50],
  };
  const device = { device: 0, layers: [layer], blocks: { kept: 1, total: 2 } };
  const live = (...counted) => {
    const ends = counted.map((_, step) => 12 + step);
    const steps = counted.map((bytes, step) => ({ index: step, end_ns: ends[step], devices: [{ layer: "torch", device: 0, end_live_bytes: bytes }] }));
    const recording = { steps: ends.map((endNs, index) => ({ series: "s", index, beginNs: endNs - 1, endNs })), report: { folded: false, steps } };
    return moments.liveAtStepEnds(recording, device, layer, [...counted.keys()], Int32Array.of(0), 1).map((row) => [...row]);
  };
  equal([live(100, 300), live(300, 100), live(300, 100, 290, 110)], [[[100, 300]], [[300, 100]], [[300, 100, 300, 100]]]);
});

test("native functions lose parameters and template arguments, and keep operators", () => {
  const short = names.shortFunction;
  equal(short("at::_ops::mm::call(at::Tensor const&, at::Tensor const&)"), "at::_ops::mm::call");
  equal(short("void f<int, g<char> >::h(int)"), "f::h");
  equal(short("(anonymous namespace)::run(int)"), "run");
  equal(short("start_thread"), "start_thread");
  check(short("<".repeat(100000)).length <= 200, "a long name is not cut");
});

await runTests();
