// SPDX-License-Identifier: MIT
// Draws the timeline: the stacked areas, the curves above them, the axes and the lanes.
import { FONT, fitText, type Drawing } from "../../chart/surface";
import { pickBuckets, pickLargest, pixelOf, traceColumns, type PlotRange } from "../../chart/columns";
import type { Device, Layer } from "../../data/device";
import type { Recording } from "../../data/recording";
import type { Axis } from "../../model/axis";
import type { Group } from "../../model/groups";
import { size, sizeTicks, tickSize } from "../../ui/format";
import type { Ink } from "../../ui/palette";

/** Where the plot lies in the drawing, in pixels, and its vertical scale. */
export interface Plot {
  range: PlotRange;
  top: number;
  bottom: number;
  most: number; // bytes at the upper edge
  y(bytes: number): number;
}

/** The curves above the areas that are shown. */
export interface Curves {
  reserved: boolean;
  used: boolean;
  capacityBytes: number; // 0: not shown
}

/** A strip below the time axis: steps, phases or refused requests. */
export interface Lane {
  name: string;
  kind: string;
  rows: number;
}

export const LANE_HEIGHT = 19;
export const AXIS_HEIGHT = 26;

/** Width of the labels to the left of the plot. */
export const gutter = (width: number): number => (width < 560 ? 58 : 76);

export function makePlot(width: number, height: number, lanes: Lane[], axis: Axis, left: number, right: number, most: number): Plot {
  const x = gutter(width);
  const below = AXIS_HEIGHT + lanes.reduce((sum, lane) => sum + lane.rows * LANE_HEIGHT + 3, 0);
  const [top, bottom] = [14, height - below];
  return {
    range: { axis, left, right, x, width: width - x - 1 },
    top,
    bottom,
    most,
    y: (bytes) => bottom - (bytes / Math.max(1, most)) * (bottom - top),
  };
}

/** For a zoomed plot: its vertical scale fits the areas, whatever the curves show. */
export const NO_CURVES: Curves = { reserved: false, used: false, capacityBytes: 0 };

/** The largest value that the plot must show. */
export function largest(layer: Layer, device: Device, range: PlotRange, curves: Curves): number {
  let most = curves.capacityBytes;
  const picked = pickBuckets(layer, range);
  for (const bucket of picked) {
    most = Math.max(most, layer.maxBytes[bucket]!);
    if (curves.reserved) most = Math.max(most, layer.reservedBytes[bucket] ?? 0);
  }
  if (curves.used) for (const used of pickLargest(device.sampleNs, device.sampleUsed, range)) most = Math.max(most, used);
  return most || 1;
}

export function paintGrid({ context: c, width, ink }: Drawing, plot: Plot): void {
  c.font = FONT;
  c.textBaseline = "middle";
  c.textAlign = "right";
  for (const tick of sizeTicks(plot.most, Math.max(2, (plot.bottom - plot.top) / 56))) {
    const y = Math.round(plot.y(tick)) + 0.5;
    if (y < plot.top - 6) continue;
    c.strokeStyle = ink.line;
    c.lineWidth = 1;
    c.beginPath();
    c.moveTo(plot.range.x, y);
    c.lineTo(width, y);
    c.stroke();
    c.fillStyle = ink.muted;
    c.fillText(tickSize(tick), plot.range.x - 8, y);
  }
}

export function paintStack({ context: c, ink }: Drawing, plot: Plot, layer: Layer, groups: Group[], highlighted: number): void {
  const { range } = plot;
  const picked = pickBuckets(layer, range);
  let low = new Float64Array(picked.length);
  for (const at of steadyFirst(groups)) {
    const group = groups[at]!;
    const high = low.slice();
    for (let i = 0; i < picked.length; i++) high[i]! += group.values[picked[i]!]!;
    traceColumns(c, range.x, high, plot.y);
    for (let i = picked.length - 1; i >= 0; i--) {
      const y = plot.y(low[i]!);
      c.lineTo(range.x + i + 1, y);
      c.lineTo(range.x + i, y);
    }
    c.closePath();
    c.globalAlpha = highlighted >= 0 && highlighted !== at ? 0.22 : 1;
    c.fillStyle = group.color;
    c.fill();
    // A thin line separates neighbours, because their colours may look alike.
    c.globalAlpha = 0.8;
    c.fillStyle = ink.surface;
    for (let i = 0; i < picked.length; i++) {
      const y = plot.y(high[i]!);
      if (plot.y(low[i]!) - y > 3) c.fillRect(range.x + i, y, 1, 0.75);
    }
    c.globalAlpha = 1;
    low = high;
  }
}

const orders = new WeakMap<Group[], number[]>();

/** Returns the order of the areas from below: the steadiest group first. So each area shows its own changes. */
export function steadyFirst(groups: Group[]): number[] {
  let order = orders.get(groups);
  if (!order) {
    const steady = groups.map((group) => group.values.reduce((sum, value) => sum + value, 0) / Math.max(1, group.most));
    order = groups.map((_, at) => at).sort((a, b) => steady[b]! - steady[a]!);
    orders.set(groups, order);
  }
  return order;
}

/** Draws each layer's own curve. Layers lie inside each other, so they are not stacked. */
export function paintLayers({ context: c, ink }: Drawing, plot: Plot, layers: { layer: Layer; color: string }[]): void {
  for (const { layer, color } of layers) {
    const picked = pickBuckets(layer, plot.range);
    const values = Array.from(picked, (bucket) => layer.maxBytes[bucket] ?? 0);
    traceColumns(c, plot.range.x, values, plot.y);
    c.lineTo(plot.range.x + values.length, plot.bottom);
    c.lineTo(plot.range.x, plot.bottom);
    c.closePath();
    c.fillStyle = color;
    c.globalAlpha = 0.35;
    c.fill();
    c.globalAlpha = 1;
    traceColumns(c, plot.range.x, values, plot.y);
    c.strokeStyle = color;
    c.lineWidth = 1.5;
    c.stroke();
  }
  c.strokeStyle = ink.line;
}

function paintCurve(c: CanvasRenderingContext2D, plot: Plot, values: ArrayLike<number>, color: string, dash: number[]): void {
  traceColumns(c, plot.range.x, values, plot.y);
  c.setLineDash(dash);
  c.strokeStyle = color;
  c.lineWidth = 1.5;
  c.stroke();
  c.setLineDash([]);
}

/** If buckets are several pixels wide, draws a finer curve that shows the changes within each bucket. */
export function paintFine({ context: c, ink }: Drawing, plot: Plot, layer: Layer): void {
  const picked = pickBuckets(layer, plot.range);
  if (new Set(picked).size > picked.length / 3 || layer.fineBeginNs.length <= layer.buckets) return;
  c.globalAlpha = 0.7;
  paintCurve(c, plot, pickLargest(layer.fineBeginNs, layer.fineMaxBytes, plot.range), ink.text, []);
  c.globalAlpha = 1;
}

export function paintCurves({ context: c, ink, width }: Drawing, plot: Plot, layer: Layer, device: Device, curves: Curves): void {
  const picked = pickBuckets(layer, plot.range);
  if (curves.reserved && layer.reservedBytes.length > 0) {
    paintCurve(c, plot, Array.from(picked, (bucket) => layer.reservedBytes[bucket]!), ink.reserved, []);
  }
  if (curves.used && device.sampleNs.length > 0) {
    paintCurve(c, plot, pickLargest(device.sampleNs, device.sampleUsed, plot.range), ink.used, [5, 3]);
  }
  if (curves.capacityBytes > 0) {
    const y = Math.round(plot.y(curves.capacityBytes)) + 0.5;
    c.strokeStyle = ink.alarm;
    c.setLineDash([2, 3]);
    c.beginPath();
    c.moveTo(plot.range.x, y);
    c.lineTo(width, y);
    c.stroke();
    c.setLineDash([]);
  }
}

/** Names the curves that are higher than the plot, with their largest values. */
export function paintAbove({ context: c, width, ink }: Drawing, plot: Plot, layer: Layer, device: Device, curves: Curves): void {
  const { range } = plot;
  const reserved = curves.reserved ? pickBuckets(layer, range).reduce((most, bucket) => Math.max(most, layer.reservedBytes[bucket] ?? 0), 0) : 0;
  const used = curves.used ? pickLargest(device.sampleNs, device.sampleUsed, range).reduce((most, value) => Math.max(most, value), 0) : 0;
  const all: [string, number][] = [["reserved", reserved], ["device used", used], ["capacity", curves.capacityBytes]];
  const above = all.filter(([, bytes]) => bytes > plot.most);
  if (above.length === 0) return;
  c.font = FONT;
  c.textBaseline = "middle";
  c.textAlign = "right";
  c.fillStyle = ink.muted;
  const text = `\u2191 ${above.map(([name, bytes]) => `${name} ${size(bytes)}`).join(", ")}`;
  c.fillText(fitText(c, text, range.width - 8), width - 4, 7);
}

export function paintTimeAxis({ context: c, width, ink }: Drawing, plot: Plot): void {
  const { range } = plot;
  const ticks = range.axis.ticks(range.axis.at(range.left), range.axis.at(range.right), Math.max(2, range.width / 84));
  c.font = FONT;
  c.textBaseline = "top";
  c.textAlign = "left";
  c.fillStyle = ink.muted;
  c.strokeStyle = ink.line;
  c.lineWidth = 1;
  c.beginPath();
  c.moveTo(range.x, plot.bottom + 0.5);
  c.lineTo(width, plot.bottom + 0.5);
  for (const tick of ticks) {
    const x = Math.round(pixelOf(range, range.axis.ns(tick.at))) + 0.5;
    if (x < range.x - 1) continue;
    c.moveTo(x, plot.bottom);
    c.lineTo(x, plot.bottom + 5);
    const w = c.measureText(tick.label).width;
    if (x - w / 2 >= range.x - 20 && x + w / 2 <= width) c.fillText(tick.label, x - w / 2, plot.bottom + 8);
  }
  c.stroke();
}

/** A box in a lane. Used for painting, and to find the box under the pointer. */
export interface LaneBox {
  x: number;
  y: number;
  width: number;
  text: string;
  kind: string;
  begin: number;
  end: number;
  more: string;
}

export function laneBoxes(recording: Recording, device: Device, plot: Plot, lanes: Lane[]): LaneBox[] {
  const boxes: LaneBox[] = [];
  let y = plot.bottom + AXIS_HEIGHT;
  const put = (begin: number, end: number, row: number, text: string, kind: string, more = ""): void => {
    if (end < plot.range.left || begin > plot.range.right) return;
    const x = pixelOf(plot.range, Math.max(begin, plot.range.left));
    const right = pixelOf(plot.range, Math.min(end, plot.range.right));
    const last = boxes[boxes.length - 1];
    // Boxes narrower than a pixel are drawn once.
    if (last && last.kind === kind && right - last.x < 1 && last.y === y + row * LANE_HEIGHT) return;
    boxes.push({ x, y: y + row * LANE_HEIGHT, width: Math.max(1, right - x), text, kind, begin, end, more });
  };
  for (const lane of lanes) {
    if (lane.kind === "step") for (const step of recording.steps) put(step.beginNs, step.endNs, 0, `${step.index}`, "step");
    if (lane.kind === "phase") {
      for (const phase of recording.phases) put(phase.beginNs, phase.endNs, Math.min(phase.depth, lane.rows - 1), phase.name, "phase", phase.open ? "not closed" : "");
    }
    if (lane.kind === "refusal") for (const each of device.refusals) put(each.timeNs, each.timeNs, 0, "", "refusal", tickSize(each.bytes));
    y += lane.rows * LANE_HEIGHT + 3;
  }
  return boxes;
}

export function paintLanes({ context: c, ink }: Drawing, plot: Plot, lanes: Lane[], boxes: LaneBox[]): void {
  c.font = FONT;
  let y = plot.bottom + AXIS_HEIGHT;
  c.textBaseline = "middle";
  for (const lane of lanes) {
    c.textAlign = "right";
    c.fillStyle = ink.muted;
    c.fillText(lane.name, plot.range.x - 8, y + LANE_HEIGHT / 2 - 1);
    y += lane.rows * LANE_HEIGHT + 3;
  }
  c.textAlign = "left";
  boxes.forEach((box, at) => paintBox(c, ink, box, at));
}

function paintBox(c: CanvasRenderingContext2D, ink: Ink, box: LaneBox, at: number): void {
  if (box.kind === "refusal") {
    c.fillStyle = ink.alarm;
    c.beginPath();
    c.moveTo(box.x, box.y + 1);
    c.lineTo(box.x + 6, box.y + 13);
    c.lineTo(box.x - 6, box.y + 13);
    c.closePath();
    c.fill();
    return;
  }
  c.fillStyle = box.kind === "step" ? ink.muted : ink.accent;
  c.globalAlpha = box.kind === "step" ? (at % 2 ? 0.14 : 0.24) : 0.22;
  c.fillRect(box.x, box.y, Math.max(1, box.width - 1), LANE_HEIGHT - 2);
  c.globalAlpha = 1;
  if (box.width > 14) {
    c.fillStyle = ink.text;
    c.fillText(fitText(c, box.text, box.width - 8), box.x + 4, box.y + LANE_HEIGHT / 2 - 1);
  }
}

export function paintMarks({ context: c, ink }: Drawing, plot: Plot, from: number | null, to: number | null, cursor: number | null): void {
  const { range } = plot;
  const height = plot.bottom - plot.top;
  if (from !== null && to !== null) {
    const a = Math.max(range.x, pixelOf(range, from));
    const b = Math.min(range.x + range.width, pixelOf(range, to));
    if (b > range.x && a < range.x + range.width) {
      c.fillStyle = ink.range;
      c.globalAlpha = 0.16;
      c.fillRect(a, plot.top, Math.max(1, b - a), height);
      c.globalAlpha = 1;
      c.fillRect(a, plot.top, 1, height);
      c.fillRect(b - 1, plot.top, 1, height);
    }
  }
  if (cursor !== null && cursor >= range.left && cursor <= range.right) {
    const x = Math.round(pixelOf(range, cursor));
    c.fillStyle = ink.text;
    c.fillRect(x - 0.75, plot.top - 8, 1.5, height + 8);
    c.beginPath();
    c.arc(x, plot.top - 8, 3.5, 0, 2 * Math.PI);
    c.fill();
  }
}

/** Marks the peak by a dot with its size. */
export function paintPeak({ context: c, width, ink }: Drawing, plot: Plot, layer: Layer): void {
  const x = pixelOf(plot.range, layer.peakNs);
  const y = plot.y(layer.peakBytes);
  const label = `peak ${size(layer.peakBytes)}`;
  c.font = `600 ${FONT}`;
  const wide = c.measureText(label).width + 12;
  const left = Math.max(plot.range.x + 2, Math.min(width - wide - 2, x - wide / 2));
  const top = y > plot.top + 26 ? y - 28 : y + 8;
  c.fillStyle = ink.text;
  c.beginPath();
  c.arc(x, y, 4, 0, 2 * Math.PI);
  c.fill();
  c.beginPath();
  c.roundRect(left, top, wide, 20, 4);
  c.fill();
  c.fillStyle = ink.surface;
  c.textBaseline = "middle";
  c.textAlign = "left";
  c.fillText(label, left + 6, top + 10.5);
}
