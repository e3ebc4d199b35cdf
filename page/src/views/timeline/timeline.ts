// SPDX-License-Identifier: MIT
// The timeline: what was live over time, and what it was made of.
import { momentOf } from "../../chart/columns";
import { makeStrip } from "../../chart/strip";
import { makeSurface, type Drawing } from "../../chart/surface";
import { makeAxis, resolveAxis, stepAt } from "../../model/axis";
import { bucketAt } from "../../model/buckets";
import { groupsOf, type Group } from "../../model/groups";
import { siteLine, stackOf } from "../../model/names";
import { change, state, type State } from "../../state/state";
import { add, button, choice, cut, cutPath, h, note, replace, select } from "../../ui/dom";
import { duration, percent, plural, size } from "../../ui/format";
import { categoryList, categoryMeaning, layerList } from "../../ui/meanings";
import { colorOf } from "../../ui/palette";
import { hideTip, showTip, tipRow } from "../../ui/tooltip";
import { layerName, layerReport, deviceReport, type Context, type Mounted, type View } from "../view";
import { blockAt, highest, paintBlocks, placeBlocks, siteColors } from "./blocks";
import { listenToPlot } from "./gestures";
import {
  laneBoxes, largest, makePlot, NO_CURVES, paintAbove, paintCurves, paintFine, paintGrid, paintLanes, paintLayers, paintMarks, paintPeak, paintStack, paintTimeAxis, steadyFirst,
  LANE_HEIGHT, type Curves, type Lane, type LaneBox, type Plot,
} from "./paint";

const BY = [
  { value: "category", text: "category" },
  { value: "line", text: "line of code" },
  { value: "module", text: "module" },
  { value: "operator", text: "operator" },
  { value: "owner", text: "owner" },
  { value: "part", text: "part of a step" },
  { value: "phase", text: "phase" },
  { value: "layer", text: "layer" },
];

function lanesOf(context: Context): Lane[] {
  const { recording, device } = context;
  const lanes: Lane[] = [];
  if (recording.steps.length > 0) lanes.push({ name: "steps", kind: "step", rows: 1 });
  if (recording.phases.length > 0) {
    const depth = Math.max(...recording.phases.map((phase) => phase.depth));
    lanes.push({ name: "phases", kind: "phase", rows: Math.min(3, depth + 1) });
  }
  if (device && device.refusals.length > 0) lanes.push({ name: "refused", kind: "refusal", rows: 1 });
  return lanes;
}

const lanesHeight = (lanes: Lane[]): number => lanes.reduce((sum, lane) => sum + lane.rows * LANE_HEIGHT + 3, 0);

function mount(box: HTMLElement, context: Context): Mounted {
  const { recording, device, layer } = context;
  if (!device || !layer || layer.buckets === 0) {
    add(box, note("Nothing was allocated here, so there is no curve."));
    return {};
  }
  const capacityBytes = deviceReport(context)?.total_bytes ?? 0;
  const lanes = lanesOf(context);
  const layerNumber = device.layers.indexOf(layer);
  let highlighted = -1;
  let plot: Plot | null = null;
  let boxes: LaneBox[] = [];
  const groups = (): Group[] => (state().by === "layer" ? [] : groupsOf(recording, layer, state().by));
  const curves = (): Curves => {
    const shown = state().lines;
    return { reserved: shown.includes("r") && layer.name === "torch", used: shown.includes("u"), capacityBytes: shown.includes("c") ? capacityBytes : 0 };
  };
  const placed = () => placeBlocks(device, layerNumber, state().mode);
  const layers = () => device.layers.map((each, at) => ({ layer: each, color: colorOf("layer", each.name, at) }));

  /** The number of single blocks that live in the visible part. */
  const visible = (): number => {
    const { left, right } = state();
    let found = 0;
    for (const each of placeBlocks(device, layerNumber, "blocks").blocks) {
      if (each.begin < (right ?? Infinity) && each.end > (left ?? 0)) found++;
    }
    return found;
  };

  const paint = (drawing: Drawing): void => {
    const now = state();
    const left = now.left ?? 0;
    const right = now.right ?? recording.durationNs;
    const axis = makeAxis(now.axis, recording, layer);
    const range = { axis, left, right, x: 0, width: drawing.width };
    const blocks = now.mode !== "stack";
    // The height fits what is visible. In the whole picture, and with the full scale, the curves count too.
    const fits = now.left !== null && now.scale !== "full";
    const scaled = fits ? range : { ...range, left: 0, right: recording.durationNs };
    const counted = fits ? NO_CURVES : curves();
    let most = blocks ? (fits ? highest(placed(), left, right) : placed().most) : largest(layer, device, scaled, counted);
    if (!blocks && now.by === "layer") most = Math.max(most, ...device.layers.map((each) => largest(each, device, scaled, counted)));
    plot = makePlot(drawing.width, drawing.height, lanes, axis, left, right, most * 1.03);
    surface.element.dataset.most = String(Math.round(plot.most));
    paintGrid(drawing, plot);
    const c = drawing.context;
    c.save();
    c.beginPath();
    c.rect(plot.range.x, 0, plot.range.width, plot.bottom);
    c.clip();
    if (blocks) paintBlocks(drawing, plot, recording, device, placed(), siteColors(recording, now.by, groups()));
    else if (now.by === "layer") paintLayers(drawing, plot, layers());
    else paintStack(drawing, plot, layer, groups(), highlighted);
    if (!blocks && now.left !== null) paintFine(drawing, plot, layer);
    if (!blocks) paintCurves(drawing, plot, layer, device, curves());
    c.restore();
    if (!blocks) paintAbove(drawing, plot, layer, device, curves());
    paintTimeAxis(drawing, plot);
    boxes = laneBoxes(recording, device, plot, lanes);
    paintLanes(drawing, plot, lanes, boxes);
    paintMarks(drawing, plot, now.from, now.to, now.cursor);
    if (!blocks && layer.peakNs >= left && layer.peakNs <= right) paintPeak(drawing, plot, layer);
  };

  const surface = makeSurface("timeline", `Live memory of ${layerName(layer.name)} over time. The table below has the numbers.`, paint);
  surface.element.style.setProperty("--lanes", `${lanesHeight(lanes)}px`);
  surface.canvas.tabIndex = 0;
  const strip = makeStrip(context, { zooms: true, className: "strip minimap" });
  const controls = h("div", { class: "controls" });
  const legend = h("div", { class: "legend-box" });
  const hover = (x: number, y: number, px: number, py: number): void => {
    if (!plot) return;
    const lane = boxes.find((each) => px >= each.x - 6 && px <= each.x + Math.max(each.width, 6) && py >= each.y && py < each.y + LANE_HEIGHT);
    if (lane) {
      const title = lane.kind === "step" ? `Step ${lane.text}` : lane.kind === "phase" ? lane.text : `Refused: ${lane.more}`;
      showTip(x, y, h("strong", {}, title), tipRow("from", duration(lane.begin)), lane.kind === "refusal" ? null : tipRow("lasts", duration(lane.end - lane.begin)));
      return;
    }
    if (px < plot.range.x || py > plot.bottom) return hideTip();
    const ns = momentOf(plot.range, px);
    const bytes = ((plot.bottom - py) / (plot.bottom - plot.top)) * plot.most;
    if (state().mode === "stack") hoverStack(x, y, ns, bytes);
    else hoverBlock(x, y, ns, bytes);
  };
  const hoverStack = (x: number, y: number, ns: number, bytes: number): void => {
    const now = state();
    const bucket = bucketAt(layer, ns);
    const at = layer.maxNs[bucket]!;
    const step = stepAt(recording, at);
    let sum = 0;
    let under = -1;
    const list = groups();
    steadyFirst(list).forEach((i) => {
      const value = list[i]!.values[bucket]!;
      if (under < 0 && bytes >= sum && bytes < sum + value) under = i;
      sum += value;
    });
    const whole = layer.maxBytes[bucket]!;
    const rows = state().by === "layer"
      ? layers().map(({ layer: each, color }) => ({ name: layerName(each.name), value: each.maxBytes[bucketAt(each, at)] ?? 0, color, marked: false }))
      : list.map((group, i) => ({ name: group.name, value: group.values[bucket]!, color: group.color, marked: i === under }));
    const shown = rows.filter((row) => row.value > 0).sort((a, b) => b.value - a.value).slice(0, 8);
    const reserved = layer.reservedBytes[bucket];
    showTip(
      x, y,
      h("strong", {}, `${size(whole)} at ${duration(at)}`, step === null ? "" : `, step ${step}`),
      ...shown.map((row) => {
        const line = tipRow(now.by === "line" ? cutPath(row.name) : row.name, `${size(row.value)}  ${percent(row.value, whole)}`, row.color);
        if (row.marked) line.classList.add("marked");
        return line;
      }),
      reserved !== undefined ? tipRow("reserved by PyTorch", size(reserved)) : null,
    );
    if (under !== highlighted && !legend.matches(":hover")) mark(-1);
  };
  const hoverBlock = (x: number, y: number, ns: number, height: number): void => {
    const found = blockAt(placed(), ns, height);
    if (!found) return hideTip();
    const site = recording.sites[device.blocks.site[found.block]!]!;
    const born = stepAt(recording, found.begin);
    const ended = device.blocks.endNs[found.block]! >= 0;
    showTip(
      x, y,
      h("strong", {}, `${size(device.blocks.bytes[found.block]!)}  ${siteLine(recording, site)}`),
      tipRow(site.category, site.operator),
      tipRow("made", duration(found.begin) + (born === null ? "" : `, step ${born}`)),
      tipRow(ended ? "lived" : "still live after", duration(found.end - found.begin)),
      tipRow("address", `0x${(device.blocks.address[found.block]! * 256).toString(16)}`),
      ...stackOf(recording, site).filter((place) => place.python).reverse().slice(0, 6).map((place) =>
        h("div", { class: place.own ? "tip-frame own" : "tip-frame" }, `${place.function}  ${place.file.slice(place.file.lastIndexOf("/") + 1)}:${place.line}`)),
    );
  };
  const mark = (group: number): void => {
    if (group === highlighted) return;
    highlighted = group;
    surface.draw();
  };
  const drawControls = (): void => {
    const now = state();
    const toggle = (letter: string, text: string, className: string, title: string): HTMLElement =>
      button(text, () => change({ lines: now.lines.includes(letter) ? now.lines.replace(letter, "") : now.lines + letter }), {
        class: `toggle-line ${className}`, "aria-pressed": String(now.lines.includes(letter)), title,
      });
    replace(
      controls,
      select("Stack by", BY.filter((each) => each.value !== "phase" || layer.phaseNames.length > 0), now.by, (by) => change({ by })),
      choice("Horizontal axis", [
        { value: "time", text: "Time" },
        ...(recording.steps.length > 0 ? [{ value: "step", text: "Step" }] : []),
        { value: "event", text: "Event" },
      ], resolveAxis(now.axis, recording, layer), (axis) => change({ axis })),
      choice("Draw", [
        { value: "stack", text: "Areas" },
        { value: "blocks", text: "Blocks", title: "Single blocks: lifetime by size" },
        { value: "addresses", text: "Addresses", title: "Single blocks: lifetime by address" },
      ], now.mode, (mode) => change({ mode })),
      now.mode === "stack" ? h("div", { class: "choice lines", role: "group", "aria-label": "Curves" },
        layer.name === "torch" ? toggle("r", "Reserved", "is-reserved", "What PyTorch holds from CUDA, used or not") : null,
        device.sampleNs.length > 0 ? toggle("u", "Device used", "is-used", "Memory in use on the device, of all processes") : null,
        capacityBytes ? toggle("c", "Capacity", "is-capacity", "Memory of the device") : null) : null,
      now.left !== null ? button("Full scale", () => change({ scale: now.scale === "full" ? "" : "full" }), {
        class: "press", "aria-pressed": String(now.scale === "full"), title: "Keep the height of the whole recording. Key: y",
      }) : null,
      now.left !== null ? button("Whole recording", () => change({ left: null, right: null }), { title: "Key: 0" }) : null,
      now.mode === "stack" && now.left !== null && visible() <= 400 ? button(`Show the ${plural(visible(), "block")}`, () => change({ mode: "blocks" })) : null,
      now.from !== null ? button("Zoom to range", () => change({ left: now.from, right: now.to }), { title: "Key: z" }) : null,
      now.from !== null ? button("Clear range", () => change({ from: null, to: null }), { title: "Key: Escape" }) : null,
    );
  };
  const drawLegend = (): void => {
    const now = state();
    const bucket = bucketAt(layer, now.cursor ?? layer.peakNs);
    const at = layer.maxNs[bucket]!;
    const whole = layer.maxBytes[bucket]!;
    const step = stepAt(recording, at);
    const rows = now.by === "layer"
      ? layers().map(({ layer: each, color }) => ({ name: layerName(each.name), color, value: each.maxBytes[bucketAt(each, at)] ?? 0 }))
      : groups().map((group) => ({ name: group.name, color: group.color, value: group.values[bucket]! }));
    const title = `${size(whole)} ${now.cursor === null ? "at the peak" : "at the cursor"}`;
    const when = duration(at) + (step === null ? "" : `, step ${step}`);
    replace(
      legend,
      h("h2", { class: "legend-title" }, title, h("span", { class: "muted small" }, `  ${when}`)),
      h("table", { class: "legend" },
        h("caption", { class: "hidden-text" }, `Live memory ${now.cursor === null ? "at the peak" : "at the cursor"} by ${now.by}`),
        h("tbody", {}, ...rows.map((row, number) => {
          const line = h("tr", { title: now.by === "category" ? categoryMeaning(row.name) : undefined },
            h("th", { scope: "row" }, h("span", { class: "legend-name" }, h("span", { class: "swatch", color: row.color }), now.by === "line" ? cutPath(row.name) : cut(row.name))),
            h("td", { class: "number" }, row.value > 0 ? size(row.value) : "\u2013"),
            h("td", { class: "number share" }, row.value > 0 ? percent(row.value, whole) : ""));
          line.addEventListener("pointerenter", () => mark(number));
          line.addEventListener("pointerleave", () => mark(-1));
          return line;
        }))),
      now.by === "category" ? categoryList(groups().map((group) => group.name)) : null,
      now.by === "layer" ? layerList(device.layers.map((each) => each.name), layerName) : null,
      now.mode !== "stack" ? note(blockNote(context)) : null,
      h("div", { class: "legend-actions" },
        button("Flame graph of this moment", () => change({ view: "flame", metric: "cursor", cursor: at })),
        now.from !== null ? button("Flame graph of the range", () => change({ view: "flame", metric: "made" })) : null),
    );
  };
  listenToPlot(surface, context, () => plot, hover);
  const headline = layerReport(context);
  add(
    box,
    controls,
    h("div", { class: "timeline-grid" }, h("div", { class: "timeline-main" }, surface.element, strip.element), legend),
    h("p", { class: "hint" }, "Drag: choose a range. Click: set the cursor. Wheel: zoom. Shift and drag: move. Double click: show all."),
    headline ? h("p", { class: "hidden-text" }, `Peak ${size(headline.peak_bytes)}`) : null,
  );
  drawControls();
  drawLegend();
  const redraw = new Set<keyof State>(["cursor", "from", "to", "left", "right", "axis", "by", "mode", "scale", "lines"]);
  return {
    update(changed) {
      if (![...changed].some((key) => redraw.has(key))) return;
      surface.draw();
      strip.draw();
      if (changed.has("by") || changed.has("cursor") || changed.has("mode") || changed.has("from")) drawLegend();
      drawControls();
    },
    close() {
      surface.close();
      strip.close();
      hideTip();
    },
  };
}

function blockNote(context: Context): string {
  const { blocks } = context.device!;
  if (blocks.kept >= blocks.total) return `All ${plural(blocks.total, "block")} of the device are in the page.`;
  return `The ${plural(blocks.kept, "largest block")} of ${blocks.total.toLocaleString("en")} are in the page: ${percent(blocks.keptShare, 1)} of size times lifetime.`;
}

export const timeline: View = { id: "timeline", name: "Timeline", key: "2", strip: false, mount };

