// SPDX-License-Identifier: MIT
// The small curve above the views: it shows the cursor and the range, and moves them.
import { bucketAt, bucketEnd } from "../model/buckets";
import { makeAxis, stepAt } from "../model/axis";
import { change, state } from "../state/state";
import { duration, size } from "../ui/format";
import { hideTip, showTip, tipRow } from "../ui/tooltip";
import type { Context } from "../views/view";
import { momentOf, pickBuckets, pixelOf, traceColumns, type PlotRange } from "./columns";
import { FONT, makeSurface, type Surface } from "./surface";

/** Moves the cursor to the bucket of a moment: to its largest moment, whose numbers the page has. */
export function cursorAt(context: Context, ns: number): number {
  const layer = context.layer!;
  return layer.maxNs[bucketAt(layer, ns)] ?? ns;
}

/** Widens a range to whole buckets, so that sums over it are exact. */
export function snapRange(context: Context, a: number, b: number): { from: number; to: number } {
  const layer = context.layer!;
  const first = bucketAt(layer, Math.min(a, b));
  const last = bucketAt(layer, Math.max(a, b));
  return { from: layer.beginNs[first] ?? 0, to: bucketEnd(layer, last, context.recording.durationNs) };
}

export function makeStrip(context: Context, options: { zooms?: boolean; className?: string } = {}): Surface {
  const { recording, layer } = context;
  const wholeRange = (width: number): PlotRange => ({
    axis: makeAxis(state().axis, recording, layer ?? undefined),
    left: 0,
    right: recording.durationNs,
    x: 0,
    width,
  });
  const surface = makeSurface(options.className ?? "strip", "The curve of the whole recording, with the cursor and the range", ({ context: c, width, height, ink }) => {
    if (!layer || layer.buckets === 0) return;
    const view = wholeRange(width);
    const picked = pickBuckets(layer, view);
    const base = height - 0.5;
    const y = (bytes: number): number => base - (bytes / Math.max(1, layer.peakBytes)) * (height - (options.zooms ? 6 : 18));
    const values = Array.from(picked, (bucket) => layer.maxBytes[bucket]!);
    traceColumns(c, 0, values, y);
    c.lineTo(width, base);
    c.lineTo(0, base);
    c.closePath();
    c.fillStyle = ink.accent;
    c.globalAlpha = 0.28;
    c.fill();
    c.globalAlpha = 1;
    traceColumns(c, 0, values, y);
    c.strokeStyle = ink.accent;
    c.lineWidth = 1.25;
    c.stroke();
    const { from, to, cursor, left, right } = state();
    if (options.zooms && left !== null && right !== null) {
      c.fillStyle = ink.surface;
      c.globalAlpha = 0.72;
      c.fillRect(0, 0, pixelOf(view, left), height);
      c.fillRect(pixelOf(view, right), 0, width, height);
      c.globalAlpha = 1;
    }
    if (from !== null && to !== null) {
      const [a, b] = [pixelOf(view, from), pixelOf(view, to)];
      c.fillStyle = ink.range;
      c.globalAlpha = 0.22;
      c.fillRect(a, 0, Math.max(1, b - a), height);
      c.globalAlpha = 1;
      c.fillRect(a, 0, 1, height);
      c.fillRect(b, 0, 1, height);
    }
    const mark = pixelOf(view, cursor ?? layer.peakNs);
    c.fillStyle = cursor === null ? ink.muted : ink.text;
    c.fillRect(Math.round(mark) - 0.75, 0, 1.5, height);
    if (cursor === null && !options.zooms) {
      c.font = FONT;
      c.textBaseline = "alphabetic";
      const label = "peak";
      const w = c.measureText(label).width;
      c.fillText(label, mark + w + 6 > width ? mark - w - 5 : mark + 5, 12);
    }
  });
  const moment = (event: PointerEvent): number => momentOf(wholeRange(surface.width()), event.clientX - surface.canvas.getBoundingClientRect().left);
  let start: { x: number; ns: number } | null = null;
  surface.canvas.addEventListener("pointerdown", (event) => {
    if (!layer || event.button !== 0) return;
    surface.canvas.setPointerCapture(event.pointerId);
    start = { x: event.clientX, ns: moment(event) };
  });
  surface.canvas.addEventListener("pointermove", (event) => {
    if (!layer || layer.buckets === 0) return;
    const ns = moment(event);
    const bucket = bucketAt(layer, ns);
    if (start && Math.abs(event.clientX - start.x) > 3) {
      const range = snapRange(context, start.ns, ns);
      if (options.zooms) change({ left: range.from, right: range.to });
      else change(range);
    }
    const step = stepAt(recording, layer.maxNs[bucket]!);
    showTip(event.clientX, event.clientY, tipRow(duration(layer.maxNs[bucket]!) + (step === null ? "" : `, step ${step}`), size(layer.maxBytes[bucket]!)));
  });
  surface.canvas.addEventListener("pointerup", (event) => {
    if (start && layer && Math.abs(event.clientX - start.x) <= 3) {
      if (options.zooms) {
        const { left, right } = state();
        if (left !== null && right !== null) {
          const half = (right - left) / 2;
          const middle = Math.min(recording.durationNs - half, Math.max(half, start.ns));
          change({ left: middle - half, right: middle + half });
        }
      } else {
        change({ cursor: cursorAt(context, start.ns) });
      }
    }
    start = null;
  });
  surface.canvas.addEventListener("pointerleave", hideTip);
  surface.canvas.addEventListener("dblclick", () => change(options.zooms ? { left: null, right: null } : { from: null, to: null }));
  return surface;
}
