// SPDX-License-Identifier: MIT
// Sums over the buckets of a layer: what is live at a bucket's maximum, what a range made and freed, by site.
import type { Layer } from "../data/device";

/** Returns the bucket that contains the moment. */
export function bucketAt(layer: Layer, ns: number): number {
  return lastAtMost(layer.beginNs, ns);
}

/** Returns the index of the last value that is at most `value`, or 0. The values rise. */
export function lastAtMost(values: ArrayLike<number>, value: number): number {
  let low = 0;
  let high = values.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (values[middle]! <= value) low = middle;
    else high = middle - 1;
  }
  return Math.max(0, low);
}

export const bucketEnd = (layer: Layer, bucket: number, durationNs: number): number =>
  bucket + 1 < layer.buckets ? layer.beginNs[bucket + 1]! : durationNs;

/** Live bytes of each site at the maximum of the bucket. The sum is the bucket's `maxBytes`. */
export function liveAtMaximum(layer: Layer, bucket: number, sites: number): Float64Array {
  const live = new Float64Array(sites);
  const end = layer.firstEntry[Math.min(bucket + 1, layer.buckets)]!;
  for (let i = 0; i < end; i++) live[layer.entrySite[i]!]! += layer.entryAtMax[i]!;
  return live;
}

export interface Flow {
  allocated: Float64Array;
  allocs: Float64Array;
  freed: Float64Array;
  frees: Float64Array;
}

/** What each site made and freed in the buckets `first` to `last`. */
export function flow(layer: Layer, first: number, last: number, sites: number): Flow {
  const out = {
    allocated: new Float64Array(sites),
    allocs: new Float64Array(sites),
    freed: new Float64Array(sites),
    frees: new Float64Array(sites),
  };
  const end = layer.firstEntry[Math.min(last + 1, layer.buckets)]!;
  for (let i = layer.firstEntry[first]!; i < end; i++) {
    const site = layer.entrySite[i]!;
    out.allocated[site]! += layer.entryAllocated[i]!;
    out.allocs[site]! += layer.entryAllocs[i]!;
    out.freed[site]! += layer.entryFreed[i]!;
    out.frees[site]! += layer.entryFrees[i]!;
  }
  return out;
}

/** The buckets that a range of time covers: the first and the last. Null means the whole recording. */
export function bucketsOf(layer: Layer, from: number | null, to: number | null): [number, number] {
  if (from === null || to === null || layer.buckets === 0) return [0, Math.max(0, layer.buckets - 1)];
  const first = bucketAt(layer, from);
  let last = bucketAt(layer, to);
  // A range that ends where a bucket begins does not contain that bucket.
  if (last > first && layer.beginNs[last]! >= to) last--;
  return [first, last];
}
