// SPDX-License-Identifier: MIT
// What each part of each step made, to the nearest bucket.
import type { Layer } from "../data/device";
import type { Recording } from "../data/recording";
import { bucketEnd, lastAtMost } from "./buckets";

export interface StepParts {
  parts: string[];
  /** Bytes made, by the index of the step, then in the order of `parts`. */
  made: Map<number, Float64Array>;
}

/** Returns null if steps are so short that buckets do not resolve them. */
export function madeByPart(recording: Recording, layer: Layer): StepParts | null {
  const { steps, sites } = recording;
  if (steps.length === 0 || steps.length * 8 > layer.buckets) return null;
  const parts = [...new Set(sites.filter((site) => site.id > 0 && site.layer === layer.name).map((site) => site.part))].filter(Boolean);
  const order = ["forward", "backward", "optimizer"];
  const rank = (part: string): number => (order.includes(part) ? order.indexOf(part) : order.length);
  parts.sort((a, b) => rank(a) - rank(b));
  const partOf = sites.map((site) => parts.indexOf(site.part));
  const begins = steps.map((step) => step.beginNs);
  const made = new Map<number, Float64Array>();
  for (let bucket = 0; bucket < layer.buckets; bucket++) {
    const middle = (layer.beginNs[bucket]! + bucketEnd(layer, bucket, recording.durationNs)) / 2;
    const step = steps[lastAtMost(begins, middle)]!;
    if (middle < step.beginNs || middle > step.endNs) continue;
    let row = made.get(step.index);
    if (!row) made.set(step.index, (row = new Float64Array(parts.length)));
    for (let i = layer.firstEntry[bucket]!; i < layer.firstEntry[bucket + 1]!; i++) {
      const part = partOf[layer.entrySite[i]!]!;
      if (part >= 0) row[part]! += layer.entryAllocated[i]!;
    }
  }
  return { parts, made };
}
