// SPDX-License-Identifier: MIT
// Maps pixels to buckets: each column of pixels shows the bucket with the largest total, so no peak is missed.
import type { Layer } from "../data/device";
import type { Axis } from "../model/axis";
import { bucketAt, lastAtMost } from "../model/buckets";

/** A part of the axis, drawn from pixel `x` on, `width` pixels wide. */
export interface PlotRange {
  axis: Axis;
  left: number; // ns
  right: number;
  x: number;
  width: number;
}

export function pixelOf(range: PlotRange, ns: number): number {
  const from = range.axis.at(range.left);
  const to = range.axis.at(range.right);
  return range.x + ((range.axis.at(ns) - from) / Math.max(1e-9, to - from)) * range.width;
}

export function momentOf(range: PlotRange, pixel: number): number {
  const from = range.axis.at(range.left);
  const to = range.axis.at(range.right);
  const position = from + ((pixel - range.x) / range.width) * (to - from);
  return Math.min(range.right, Math.max(range.left, range.axis.ns(position)));
}

/** For each column of pixels, the bucket in it with the largest total. */
export function pickBuckets(layer: Layer, range: PlotRange): Int32Array {
  const width = Math.max(1, Math.floor(range.width));
  const picked = new Int32Array(width);
  if (layer.buckets === 0) return picked;
  let bucket = bucketAt(layer, range.left);
  for (let x = 0; x < width; x++) {
    const end = momentOf(range, range.x + x + 1);
    let best = bucket;
    while (bucket + 1 < layer.buckets && layer.beginNs[bucket + 1]! < end) {
      bucket++;
      if (layer.maxBytes[bucket]! > layer.maxBytes[best]!) best = bucket;
    }
    picked[x] = best;
  }
  return picked;
}

/** For each column of pixels, the largest value of a curve whose values hold from their moment on. */
export function pickLargest(moments: Float64Array, values: Float64Array, range: PlotRange): Float64Array {
  const width = Math.max(1, Math.floor(range.width));
  const picked = new Float64Array(width);
  if (moments.length === 0) return picked;
  let at = lastAtMost(moments, range.left);
  for (let x = 0; x < width; x++) {
    const end = momentOf(range, range.x + x + 1);
    let most = moments[at]! <= end ? values[at]! : 0;
    while (at + 1 < moments.length && moments[at + 1]! < end) most = Math.max(most, values[++at]!);
    picked[x] = most;
  }
  return picked;
}

/** Draws a curve of one value for each column, as steps. */
export function traceColumns(context: CanvasRenderingContext2D, x: number, values: ArrayLike<number>, y: (value: number) => number): void {
  context.beginPath();
  for (let i = 0; i < values.length; i++) {
    const at = y(values[i]!);
    if (i === 0) context.moveTo(x, at);
    context.lineTo(x + i, at);
    context.lineTo(x + i + 1, at);
  }
}
