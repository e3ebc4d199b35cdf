// SPDX-License-Identifier: MIT
// Curves of many lines in one pass over the entries: over time, and at the ends of steps.
import type { Device, Layer } from "../data/device";
import type { Recording } from "../data/recording";
import type { Line } from "./lines";
import { liveAtStepEnds } from "./moments";

export interface Growth {
  line: Line;
  /** Live bytes at the ends of steps, evenly chosen if there are many. */
  atStepEnds: Float64Array;
  /** Bytes that the line grew by over the second half of the steps. */
  grew: number;
  perStep: number;
}

const MOST_STEPS = 160;

/** The number of each site's line, or -1. */
function linesOfSites(recording: Recording, lines: Line[]): Int32Array {
  const numbers = new Int32Array(recording.sites.length).fill(-1);
  lines.forEach((line, at) => {
    for (const site of line.sites) numbers[site.id] = at;
  });
  return numbers;
}

/** Live bytes of each line over time, the largest in each of `columns` equal parts of the buckets. */
export function curvesOf(recording: Recording, layer: Layer, lines: Line[], columns: number): Float64Array[] {
  const lineOf = linesOfSites(recording, lines);
  const width = Math.max(1, Math.min(columns, layer.buckets));
  const curves = lines.map(() => new Float64Array(width));
  const live = new Float64Array(lines.length);
  let column = -1;
  for (let bucket = 0; bucket < layer.buckets; bucket++) {
    const to = Math.floor((bucket * width) / layer.buckets);
    const isNew = to !== column;
    column = to;
    for (let i = layer.firstEntry[bucket]!; i < layer.firstEntry[bucket + 1]!; i++) {
      const line = lineOf[layer.entrySite[i]!]!;
      if (line < 0) continue;
      live[line]! += layer.entryAtMax[i]!;
    }
    if (isNew) {
      for (let line = 0; line < live.length; line++) curves[line]![column] = live[line]!;
    } else {
      for (let i = layer.firstEntry[bucket]!; i < layer.firstEntry[bucket + 1]!; i++) {
        const line = lineOf[layer.entrySite[i]!]!;
        if (line >= 0 && live[line]! > curves[line]![column]!) curves[line]![column] = live[line]!;
      }
    }
  }
  return curves;
}

/** The growth of lines over the second half of the steps, when a warm-up is over. */
export function growthOf(recording: Recording, device: Device, layer: Layer, lines: Line[]): Growth[] {
  const { steps } = recording;
  if (steps.length < 2) return [];
  const middle = Math.floor((steps.length - 1) / 2);
  const count = Math.min(MOST_STEPS, steps.length);
  const chosen = Array.from({ length: count }, (_, at) => Math.round((at * (steps.length - 1)) / (count - 1)));
  if (!chosen.includes(middle)) chosen[chosen.findIndex((step) => step > middle)] = middle;
  const curves = liveAtStepEnds(recording, device, layer, chosen, linesOfSites(recording, lines), lines.length);
  const at = chosen.indexOf(middle);
  return lines.map((line, number) => {
    const atStepEnds = curves[number]!;
    const grew = atStepEnds[count - 1]! - atStepEnds[at]!;
    return { line, atStepEnds, grew, perStep: grew / Math.max(1, steps.length - 1 - middle) };
  });
}
