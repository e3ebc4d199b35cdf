// SPDX-License-Identifier: MIT
// The ends of steps, and the last moment of the program's work, before it frees its memory and ends.
import type { Device, Layer } from "../data/device";
import type { Recording, Step } from "../data/recording";
import { bucketAt, lastAtMost, liveAtMaximum } from "./buckets";

export interface LastMoment {
  /** "after the last step", or "at the last allocation" if there are no steps. */
  name: string;
  ns: number;
}

/** Returns null if nothing was allocated in the layer. */
export function lastMoment(recording: Recording, layer: Layer): LastMoment | null {
  if (layer.buckets === 0) return null;
  const step = recording.steps[recording.steps.length - 1];
  if (step) return { name: "after the last step", ns: step.endNs };
  for (let bucket = layer.buckets - 1; bucket >= 0; bucket--) {
    for (let i = layer.firstEntry[bucket]!; i < layer.firstEntry[bucket + 1]!; i++) {
      if (layer.entryAllocs[i]! > 0) return { name: "at the last allocation", ns: layer.maxNs[bucket]! };
    }
  }
  return { name: "at the peak", ns: layer.peakNs };
}

/** Whether the page has each block of the device: then the state at any moment is exact. */
const hasAllBlocks = (recording: Recording, device: Device): boolean => device.blocks.kept >= device.blocks.total && !recording.report.folded;

/** Live bytes of the layer at the end of a step, as the program counted them. Null if the report does not have the step. */
function countedAtEnd(recording: Recording, device: Device, layer: Layer, step: Step): number | null {
  const number = device.device >= 0 ? device.device : null;
  const row = recording.report.steps.find((each) => each.index === step.index && each.end_ns === step.endNs);
  return row?.devices.find((each) => each.layer === layer.name && each.device === number)?.end_live_bytes ?? null;
}

/**
 * Live bytes of groups of sites at the ends of steps, in the order of `steps` (rising indexes of `recording.steps`).
 * `groupOf` has the group of each site, or -1. If the page lacks blocks, the numbers are those of one of the two bucket
 * boundaries next to the end: the one whose total is nearer to what the program counted.
 */
export function liveAtStepEnds(recording: Recording, device: Device, layer: Layer, steps: number[], groupOf: Int32Array, groups: number): Float64Array[] {
  const out = Array.from({ length: groups }, () => new Float64Array(steps.length));
  const ends = steps.map((step) => recording.steps[step]!.endNs);
  if (hasAllBlocks(recording, device)) {
    const { blocks } = device;
    const number = device.layers.indexOf(layer);
    // The first chosen step that ends at or after a moment.
    const from = (ns: number): number => (ends.length === 0 || ends[0]! >= ns ? 0 : lastAtMost(ends, ns - 0.5) + 1);
    for (let i = 0; i < blocks.count; i++) {
      const group = blocks.layer[i] === number ? groupOf[blocks.site[i]!]! : -1;
      if (group < 0) continue;
      const end = blocks.endNs[i]! < 0 ? ends.length : from(blocks.endNs[i]!);
      for (let at = from(blocks.beginNs[i]!); at < end; at++) out[group]![at]! += blocks.bytes[i]!;
    }
    return out;
  }
  const boundary = steps.map((step, at) => {
    const bucket = bucketAt(layer, ends[at]!);
    const counted = countedAtEnd(recording, device, layer, recording.steps[step]!);
    const [before, after] = [bucket > 0 ? layer.endBytes[bucket - 1]! : Infinity, layer.endBytes[bucket]!];
    const isBefore = counted === null ? before < after : Math.abs(before - counted) < Math.abs(after - counted);
    return isBefore ? bucket - 1 : bucket;
  });
  // Of two steps that end in one bucket, the later one may have the earlier boundary.
  const byBoundary = Array.from(steps.keys()).sort((a, b) => boundary[a]! - boundary[b]!);
  const live = new Float64Array(groups);
  let next = 0;
  for (let bucket = 0; bucket < layer.buckets && next < steps.length; bucket++) {
    for (let i = layer.firstEntry[bucket]!; i < layer.firstEntry[bucket + 1]!; i++) {
      const group = groupOf[layer.entrySite[i]!]!;
      if (group >= 0) live[group]! += layer.entryAllocated[i]! - layer.entryFreed[i]!;
    }
    for (; next < steps.length && boundary[byBoundary[next]!]! <= bucket; next++) {
      for (let group = 0; group < groups; group++) out[group]![byBoundary[next]!] = live[group]!;
    }
  }
  return out;
}

/** Live bytes of each site at the last moment. */
export function liveAtLastMoment(recording: Recording, device: Device, layer: Layer): Float64Array {
  const sites = recording.sites.length;
  const last = lastMoment(recording, layer);
  if (!last) return new Float64Array(sites);
  if (recording.steps.length === 0) return liveAtMaximum(layer, bucketAt(layer, last.ns), sites);
  const groups = Int32Array.from({ length: sites }, (_, site) => site);
  return Float64Array.from(liveAtStepEnds(recording, device, layer, [recording.steps.length - 1], groups, sites), (each) => each[0]!);
}

/** The moment by which the layer was empty for good, or null if it never was. */
export function emptySince(layer: Layer): number | null {
  let bucket = layer.buckets - 1;
  if (bucket < 0 || layer.endBytes[bucket]! > 0) return null;
  while (bucket > 0 && layer.maxBytes[bucket]! === 0) bucket--;
  return layer.beginNs[Math.min(bucket + 1, layer.buckets - 1)]!;
}
