// SPDX-License-Identifier: MIT
// Maps pixels to buckets: each column of pixels shows the bucket with the largest total, so no peak is missed.
import type { Layer } from "../data/device";
import type { Axis } from "../model/axis";
import { bucketAt, lastAtMost } from "../model/buckets";

/** A part of the axis, drawn from pixel `x` on, `width` pixels wide. */
export interface Window {
  axis: Axis;
  left: number; // ns
  right: number;
  x: number;
  width: number;
}

export function pixelOf(window: Window, ns: number): number {
  const from = window.axis.at(window.left);
  const to = window.axis.at(window.right);
  return window.x + ((window.axis.at(ns) - from) / Math.max(1e-9, to - from)) * window.width;
}

export function momentOf(window: Window, pixel: number): number {
  const from = window.axis.at(window.left);
  const to = window.axis.at(window.right);
  const position = from + ((pixel - window.x) / window.width) * (to - from);
  return Math.min(window.right, Math.max(window.left, window.axis.ns(position)));
}

/** For each column of pixels, the bucket in it with the largest total. */
export function pickBuckets(layer: Layer, window: Window): Int32Array {
  const width = Math.max(1, Math.floor(window.width));
  const picked = new Int32Array(width);
  if (layer.buckets === 0) return picked;
  let bucket = bucketAt(layer, window.left);
  for (let x = 0; x < width; x++) {
    const end = momentOf(window, window.x + x + 1);
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
export function pickLargest(moments: Float64Array, values: Float64Array, window: Window): Float64Array {
  const width = Math.max(1, Math.floor(window.width));
  const picked = new Float64Array(width);
  if (moments.length === 0) return picked;
  let at = lastAtMost(moments, window.left);
  for (let x = 0; x < width; x++) {
    const end = momentOf(window, window.x + x + 1);
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
