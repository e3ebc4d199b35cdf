// SPDX-License-Identifier: MIT
// One device of a recording, decoded: the buckets of each layer, samples of the device, single blocks.
import { decodePacket } from "./packet";
import { elementText } from "./index";

interface LayerHeader {
  layer: string;
  peak_bytes: number;
  peak_ns: number;
  buckets: number;
  fine: number;
  phase_names?: string[];
}

interface Header {
  device: number;
  layers: LayerHeader[];
  blocks: { kept: number; total: number; kept_bytes_ns: number; total_bytes_ns: number };
  refusals: { time_ns: number; bytes: number; site: number; layer: string }[];
}

/** What the sites did in each bucket, and the curve of the layer's total. */
export interface Layer {
  name: string;
  peakBytes: number;
  peakNs: number;
  buckets: number;
  beginNs: Float64Array;
  beginEvent: Float64Array;
  maxBytes: Float64Array;
  maxNs: Float64Array;
  minBytes: Float64Array;
  endBytes: Float64Array;
  /** Empty unless the layer is PyTorch's. */
  reservedBytes: Float64Array;
  /** Entries of bucket B are those from `firstEntry[B]` up to `firstEntry[B + 1]`. */
  firstEntry: Uint32Array;
  entrySite: Float64Array;
  entryAtMax: Float64Array;
  entryAllocated: Float64Array;
  entryAllocs: Float64Array;
  entryFreed: Float64Array;
  entryFrees: Float64Array;
  phaseNames: string[];
  phaseAtMax: Float64Array;
  fineBeginNs: Float64Array;
  fineMaxBytes: Float64Array;
}

export interface Blocks {
  count: number;
  kept: number;
  total: number;
  keptShare: number;
  beginNs: Float64Array;
  endNs: Float64Array;
  address: Float64Array;
  bytes: Float64Array;
  site: Float64Array;
  layer: Float64Array;
}

export interface Device {
  device: number;
  durationNs: number;
  layers: Layer[];
  sampleNs: Float64Array;
  sampleUsed: Float64Array;
  sampleTotal: Float64Array;
  refusals: { timeNs: number; bytes: number; site: number; layer: string }[];
  blocks: Blocks;
}

const loaded = new Map<string, Promise<Device>>();

/** Decodes device `device` of a recording that lasts `durationNs`. Later calls return the same object. */
export function loadDevice(recording: number, device: number, durationNs: number): Promise<Device> {
  const id = `device-${recording}-${device}`;
  let promise = loaded.get(id);
  if (!promise) {
    promise = decode(id, durationNs);
    loaded.set(id, promise);
  }
  return promise;
}

/** Returns whether the page has data of the device. */
export function hasDevice(recording: number, device: number): boolean {
  return document.getElementById(`device-${recording}-${device}`) !== null;
}

async function decode(id: string, durationNs: number): Promise<Device> {
  const text = elementText(id);
  if (text === null) throw new Error(`the page has no element ${id}`);
  const { header, column } = await decodePacket<Header>(text);
  const layers = header.layers.map((each, number): Layer => {
    const get = (name: string): Float64Array => column(`${number}.${name}`);
    const beginNs = get("begin_ns");
    const counts = get("entries");
    const firstEntry = new Uint32Array(beginNs.length + 1);
    for (let i = 0; i < beginNs.length; i++) firstEntry[i + 1] = firstEntry[i]! + (counts[i] ?? 0);
    return {
      name: each.layer,
      peakBytes: each.peak_bytes,
      peakNs: each.peak_ns,
      buckets: beginNs.length,
      beginNs,
      beginEvent: get("begin_event"),
      maxBytes: get("max_bytes"),
      maxNs: get("max_ns"),
      minBytes: get("min_bytes"),
      endBytes: get("end_bytes"),
      reservedBytes: get("reserved_bytes"),
      firstEntry,
      entrySite: get("entry.site"),
      entryAtMax: get("entry.at_max"),
      entryAllocated: get("entry.allocated"),
      entryAllocs: get("entry.allocs"),
      entryFreed: get("entry.freed"),
      entryFrees: get("entry.frees"),
      phaseNames: each.phase_names ?? [],
      phaseAtMax: get("phase.at_max"),
      fineBeginNs: get("fine.begin_ns"),
      fineMaxBytes: get("fine.max_bytes"),
    };
  });
  const info = header.blocks ?? { kept: 0, total: 0, kept_bytes_ns: 0, total_bytes_ns: 0 };
  const blockBegin = column("block.begin_ns");
  return {
    device: header.device,
    durationNs,
    layers,
    sampleNs: column("sample.ns"),
    sampleUsed: column("sample.used_bytes"),
    sampleTotal: column("sample.total_bytes"),
    refusals: (header.refusals ?? []).map((each) => ({
      timeNs: each.time_ns,
      bytes: each.bytes,
      site: each.site,
      layer: each.layer,
    })),
    blocks: {
      count: blockBegin.length,
      kept: info.kept,
      total: info.total,
      keptShare: info.total_bytes_ns > 0 ? info.kept_bytes_ns / info.total_bytes_ns : 1,
      beginNs: blockBegin,
      endNs: column("block.end_ns"),
      address: column("block.address"),
      bytes: column("block.bytes"),
      site: column("block.site"),
      layer: column("block.layer"),
    },
  };
}
