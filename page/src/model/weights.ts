// SPDX-License-Identifier: MIT
// The weight of each site for a question: live at the cursor, at the peak, made in the range ...
import type { Device, Layer } from "../data/device";
import type { Recording } from "../data/recording";
import { duration, size } from "../ui/format";
import { bucketAt, bucketsOf, flow, liveAtMaximum } from "./buckets";
import { lastMoment, liveAtLastMoment } from "./moments";

export interface Metric {
  id: string;
  name: string;
  title: string;
  /** Whether the weights are numbers of blocks, not bytes. */
  counts?: boolean;
}

export const METRICS: Metric[] = [
  { id: "peak", name: "At the peak", title: "Live bytes at the peak of the layer" },
  { id: "cursor", name: "At the cursor", title: "Live bytes at the largest moment of the cursor's bucket" },
  { id: "made", name: "Made", title: "Bytes that were allocated in the range" },
  { id: "grew", name: "Grew", title: "Bytes allocated in the range less bytes freed in it, where that is positive" },
  { id: "last", name: "After the last step", title: "Live bytes after the last step, before the program frees its memory and ends: leaks are here" },
  { id: "left", name: "Left at the end", title: "Live bytes at the end of the program's work" },
  { id: "churn", name: "Churn", title: "Bytes that the range both made and freed, by site" },
  { id: "allocs", name: "Allocations", title: "Number of allocations in the range", counts: true },
];

/** The metrics, with the names that fit the recording. */
export const metricsOf = (where: Where): Metric[] =>
  METRICS.map((each) => {
    const last = each.id === "last" ? lastMoment(where.recording, where.layer) : null;
    return last ? { ...each, name: last.name.charAt(0).toUpperCase() + last.name.slice(1) } : each;
  });

export const usesRange = (metric: string): boolean => ["made", "grew", "churn", "allocs"].includes(metric);

export interface Where {
  recording: Recording;
  device: Device;
  layer: Layer;
  cursor: number | null;
  from: number | null;
  to: number | null;
}

export function weigh(where: Where, metric: string): Float64Array {
  const { recording, device, layer } = where;
  const sites = recording.sites.length;
  if (metric === "cursor") return liveAtMaximum(layer, bucketAt(layer, where.cursor ?? layer.peakNs), sites);
  if (usesRange(metric)) {
    const [first, last] = bucketsOf(layer, where.from, where.to);
    const made = flow(layer, first, last, sites);
    if (metric === "made") return made.allocated;
    if (metric === "allocs") return made.allocs;
    if (metric === "churn") return made.allocated.map((bytes, site) => Math.min(bytes, made.freed[site]!));
    return made.allocated.map((bytes, site) => Math.max(0, bytes - made.freed[site]!));
  }
  if (metric === "last") return liveAtLastMoment(recording, device, layer);
  const out = new Float64Array(sites);
  // Site 0 stands for all sites that the page leaves out. The buckets know its share at the peak.
  if (metric === "peak" && layer.buckets > 0) out[0] = liveAtMaximum(layer, bucketAt(layer, layer.peakNs), sites)[0]!;
  for (const site of recording.sites) {
    if (site.id === 0 || site.layer !== layer.name || site.device !== device.device) continue;
    out[site.id] = metric === "left" ? site.liveBytes : site.peakBytes;
  }
  return out;
}

export const total = (weights: Float64Array): number => weights.reduce((sum, weight) => sum + weight, 0);

/** What the weights are of, in words: for headings. */
export function describe(where: Where, metric: string): string {
  const { layer } = where;
  if (metric === "cursor") {
    const bucket = bucketAt(layer, where.cursor ?? layer.peakNs);
    return `live at ${duration(layer.maxNs[bucket] ?? 0)}${where.cursor === null ? ", the peak (no cursor is set)" : ""}`;
  }
  if (metric === "peak") return `live at the peak, ${size(layer.peakBytes)} at ${duration(layer.peakNs)}`;
  if (metric === "last") {
    const last = lastMoment(where.recording, layer);
    return last ? `live ${last.name}, at ${duration(last.ns)}` : "live at the end";
  }
  if (metric === "left") return "live at the end of the program's work";
  const range =
    where.from !== null && where.to !== null
      ? `from ${duration(where.from)} to ${duration(where.to)}`
      : "in the whole recording (drag over the curve to choose a range)";
  const verb = { made: "made", grew: "grown", churn: "made and freed again", allocs: "allocations" }[metric] ?? metric;
  return `${verb} ${range}`;
}
