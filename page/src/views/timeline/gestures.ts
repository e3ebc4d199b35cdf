// SPDX-License-Identifier: MIT
// Pointer and wheel on the timeline: choose a range, set the cursor, zoom, move.
import { momentOf } from "../../chart/columns";
import { cursorAt, snapRange } from "../../chart/strip";
import type { Surface } from "../../chart/surface";
import type { Layer } from "../../data/device";
import type { Step } from "../../data/recording";
import { resolveAxis } from "../../model/axis";
import { bucketAt, lastAtMost } from "../../model/buckets";
import { change, state } from "../../state/state";
import { hideTip } from "../../ui/tooltip";
import type { Context } from "../view";
import type { Plot } from "./paint";

/** Zooms the timeline around a moment. A factor below 1 shows less time. */
export function zoom(context: Context, around: number, factor: number): void {
  const { durationNs } = context.recording;
  const left = state().left ?? 0;
  const right = state().right ?? durationNs;
  const shortest = Math.min(durationNs, 1000);
  const width = Math.max(shortest, (right - left) * factor);
  if (width >= durationNs) return change({ left: null, right: null });
  const share = (around - left) / Math.max(1, right - left);
  const start = Math.min(durationNs - width, Math.max(0, around - share * width));
  change({ left: Math.round(start), right: Math.round(start + width) });
}

/** Moves the visible part by a share of its width. */
export function move(context: Context, share: number): void {
  const { left, right } = state();
  if (left === null || right === null) return;
  const by = Math.max(-left, Math.min(context.recording.durationNs - right, (right - left) * share));
  change({ left: Math.round(left + by), right: Math.round(right + by) });
}

export function listenToPlot(
  surface: Surface,
  context: Context,
  plotNow: () => Plot | null,
  hover: (x: number, y: number, px: number, py: number) => void,
): void {
  const { canvas } = surface;
  const pointerPosition = (event: MouseEvent): [number, number] => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  let start: { x: number; ns: number; moves: boolean; left: number; right: number } | null = null;
  canvas.addEventListener("pointerdown", (event) => {
    const plot = plotNow();
    if (!plot || event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    const [x] = pointerPosition(event);
    start = { x, ns: momentOf(plot.range, x), moves: event.shiftKey, left: plot.range.left, right: plot.range.right };
  });
  canvas.addEventListener("pointermove", (event) => {
    const plot = plotNow();
    if (!plot) return;
    const [x, y] = pointerPosition(event);
    if (!start) return hover(event.clientX, event.clientY, x, y);
    if (Math.abs(x - start.x) <= 3) return;
    hideTip();
    if (start.moves) {
      const whole = context.recording.durationNs;
      const { axis } = plot.range;
      const shift = ((start.x - x) / plot.range.width) * (axis.at(start.right) - axis.at(start.left));
      const left = Math.max(0, axis.ns(axis.at(start.left) + shift));
      const right = Math.min(whole, axis.ns(axis.at(start.right) + shift));
      if (right - left > 0 && (start.left > 0 || start.right < whole)) change({ left: Math.round(left), right: Math.round(right) });
    } else {
      change(snapRange(context, start.ns, momentOf(plot.range, x)));
    }
  });
  canvas.addEventListener("pointerup", (event) => {
    const plot = plotNow();
    const [x, y] = pointerPosition(event);
    if (start && plot && Math.abs(x - start.x) <= 3 && x >= plot.range.x && y <= plot.bottom) change({ cursor: cursorAt(context, start.ns) });
    start = null;
  });
  canvas.addEventListener("pointerleave", hideTip);
  canvas.addEventListener("dblclick", () => change({ left: null, right: null }));
  canvas.addEventListener(
    "wheel",
    (event) => {
      const plot = plotNow();
      if (!plot) return;
      event.preventDefault();
      const wide = Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey;
      if (wide) return move(context, (event.deltaX || event.deltaY) / 1200);
      const [x] = pointerPosition(event);
      const { axis } = plot.range;
      const moment = momentOf(plot.range, Math.max(plot.range.x, x));
      const factor = Math.exp(Math.max(-1, Math.min(1, event.deltaY / 300)));
      if (axis.kind === "time") return zoom(context, moment, factor);
      // On other axes the zoom is even in the axis's own unit.
      const from = axis.at(plot.range.left);
      const to = axis.at(plot.range.right);
      const share = (x - plot.range.x) / plot.range.width;
      const middle = axis.at(moment);
      const width = (to - from) * factor;
      const left = Math.max(0, axis.ns(middle - share * width));
      const right = Math.min(context.recording.durationNs, axis.ns(middle + (1 - share) * width));
      if (left <= 0 && right >= context.recording.durationNs) change({ left: null, right: null });
      else if (right - left >= 1000) change({ left: Math.round(left), right: Math.round(right) });
    },
    { passive: false },
  );
}

/** The largest moment of a step. */
function peakOfStep(layer: Layer, step: Step): number {
  const first = bucketAt(layer, step.beginNs);
  let best = -1;
  for (let bucket = first; bucket < layer.buckets && layer.beginNs[bucket]! < step.endNs; bucket++) {
    const inside = layer.maxNs[bucket]! >= step.beginNs && layer.maxNs[bucket]! <= step.endNs;
    if (inside && (best < 0 || layer.maxBytes[bucket]! > layer.maxBytes[best]!)) best = bucket;
  }
  return layer.maxNs[best < 0 ? first : best]!;
}

/** Moves the cursor to the peak of another step. A step that has no bucket of its own is passed over. */
function moveBySteps(context: Context, layer: Layer, by: number): void {
  const { steps, durationNs } = context.recording;
  const now = state().cursor ?? layer.peakNs;
  const direction = Math.sign(by);
  const at = lastAtMost(steps.map((step) => step.beginNs), now);
  // Before the first step there is no step to count from.
  let next = now < steps[0]!.beginNs ? Math.max(0, by - 1) : at + by;
  if (direction < 0 && now < steps[0]!.beginNs) next = 0;
  next = Math.max(0, Math.min(steps.length - 1, next));
  let ns = peakOfStep(layer, steps[next]!);
  while (ns === now && next + direction >= 0 && next + direction < steps.length) ns = peakOfStep(layer, steps[(next += direction)]!);
  change({ cursor: ns });
  // The visible part follows the cursor.
  const { left, right } = state();
  if (left !== null && right !== null && (ns < left || ns > right)) {
    const width = right - left;
    const begin = Math.max(0, Math.min(durationNs - width, ns - width / 2));
    change({ left: Math.round(begin), right: Math.round(begin + width) });
  }
}

/** The axis that the timeline has now. By steps, an arrow key moves the cursor by steps. */
export const movesBySteps = (context: Context): boolean =>
  context.recording.steps.length > 0 && resolveAxis(state().axis, context.recording, context.layer ?? undefined) === "step";

/** Moves the cursor: by `by` steps on the axis of steps, else by one bucket or a two-hundredth of the visible part. */
export function stepCursor(context: Context, by: number): void {
  const layer = context.layer;
  if (!layer || layer.buckets === 0) return;
  if (movesBySteps(context)) return moveBySteps(context, layer, by);
  const now = state().cursor ?? layer.peakNs;
  const least = ((state().right ?? context.recording.durationNs) - (state().left ?? 0)) / 200;
  let ns = now;
  for (let tries = 0; tries < 64 && cursorAt(context, ns) === now; tries++) {
    const next = Math.max(0, Math.min(context.recording.durationNs, now + Math.sign(by) * least * (tries + 1)));
    if (next === ns) break;
    ns = next;
  }
  change({ cursor: cursorAt(context, ns) });
}
