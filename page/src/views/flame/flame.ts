// SPDX-License-Identifier: MIT
// The flame graph: which stacks hold or made the memory.
import { makeSurface } from "../../chart/surface";
import { loadDevice } from "../../data/device";
import { loadRecording } from "../../data/recording";
import { makeTree, nodeAt, pathOf, prepareTree, resolveFrames, type FlameNode, type Weighted } from "../../model/flame_tree";
import { describe, METRICS, metricsOf, total, usesRange, weigh } from "../../model/weights";
import { change, state } from "../../state/state";
import { add, button, choice, cutPath, freeSwatch, h, note, replace, select, swatch } from "../../ui/dom";
import { change as signed, count, percent, size } from "../../ui/format";
import { makeTable } from "../../ui/table";
import { hideTip, showTip, tipRow } from "../../ui/tooltip";
import { emptyView } from "../empty_view";
import { whereOf, type Context, type Mounted, type View } from "../view";
import { layOut, paintFlame, ROW, type Box } from "./paint";

const FRAMES = [
  { value: "python", text: "Python", title: "Python frames and your own code. A stack without them has its native frames" },
  { value: "all", text: "Python and native", title: "All frames, in one stack" },
  { value: "native", text: "Native", title: "Only frames of compiled code" },
  { value: "own", text: "My code", title: "Only frames of your own code" },
];

function pattern(text: string): RegExp | null {
  if (!text) return null;
  try {
    return new RegExp(text, "i");
  } catch {
    return new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i");
  }
}

function mount(box: HTMLElement, context: Context): Mounted {
  if (!whereOf(context)) {
    add(box, note("Nothing was allocated here, so there are no stacks."));
    return {};
  }
  const { recording } = context;
  const frames = (): string => resolveFrames(state().frames, recording);
  let root: FlameNode = makeTree({ recording, weights: new Float64Array(0) }, null, frames(), state().inverted);
  let zoomed = root;
  let boxes: Box[] = [];
  let hovered: FlameNode | null = null;
  let weights = new Float64Array(0);
  let before: Weighted | null = null;
  let beforeOf = "";
  const others = context.index.recordings.map((each, at) => ({ each, at })).filter(({ each, at }) => at !== recording.number && !each.error);
  const counts = (): boolean => METRICS.find((each) => each.id === state().metric)?.counts ?? false;
  const amount = (value: number): string => (counts() ? count(value) : size(value));
  const regex = (): RegExp | null => pattern(state().search);
  const matches = (node: FlameNode): boolean | null => {
    const wanted = regex();
    return wanted ? wanted.test(node.name.slice(0, 500)) || wanted.test(node.where.slice(0, 500)) : null;
  };
  const surface = makeSurface("flame", "Flame graph. The table below has the same numbers.", (drawing) => {
    boxes = layOut(root, zoomed, drawing.width);
    const rows = Math.max(3, ...boxes.map((each) => each.row + 1));
    const wanted = rows * ROW;
    if (surface.element.style.height !== `${wanted}px`) {
      surface.element.style.height = `${wanted}px`;
      surface.draw();
      return;
    }
    paintFlame(drawing, boxes, { matches, hovered, compares: before !== null, zoomed });
  });
  const controls = h("div", { class: "controls" });
  const head = h("div", { class: "flame-head" });
  const nothing = h("div");
  const table = h("div");
  const search = h("input", {
    type: "search", placeholder: "Search: regular expression", "aria-label": "Search frames, a regular expression", class: "search",
    value: state().search, oninput: () => change({ search: search.value }),
  }) as HTMLInputElement;

  const rebuild = (): void => {
    const where = whereOf(context)!;
    weights = weigh(where, state().metric) as Float64Array<ArrayBuffer>;
    root = makeTree({ recording, weights }, before, frames(), state().inverted);
    zoomed = nodeAt(root, state().root);
    hovered = null;
    const isEmpty = root.value === 0 && root.before === 0;
    replace(nothing, isEmpty ? emptyView(where, state().metric) : null);
    surface.element.hidden = isEmpty;
    drawHead();
    drawTable();
    surface.draw();
    prepareSoon();
  };
  /** Other ranges have other stacks: their nodes are made while the browser has time. */
  let waits = 0;
  const prepareSoon = (): void => {
    window.clearTimeout(waits);
    waits = window.setTimeout(() => {
      if (!prepareTree(recording, frames(), state().inverted)) prepareSoon();
    }, 1);
  };
  const drawControls = (): void => {
    const now = state();
    replace(
      controls,
      choice("Show", metricsOf(whereOf(context)!).map((each) => ({ value: each.id, text: each.name, title: each.title })), now.metric, (metric) => change({ metric, root: "" })),
      choice("Frames", FRAMES, frames(), (value) => change({ frames: value, root: "" })),
      button("Inverted", () => change({ inverted: !now.inverted, root: "" }), { class: "press", "aria-pressed": String(now.inverted), title: "The allocating call on top, its callers below" }),
      others.length > 0
        ? select("Compare with", [{ value: "", text: "no other recording" }, ...others.map(({ each, at }) => ({ value: String(at), text: each.rank === null ? each.file : `rank ${each.rank}` }))],
            now.other === null ? "" : String(now.other), (value) => change({ other: value === "" ? null : Number(value), root: "" }))
        : null,
      search,
    );
  };
  const drawHead = (): void => {
    const where = whereOf(context)!;
    const whole = total(weights);
    const wanted = regex();
    let found = 0;
    let largest: FlameNode | null = null;
    if (wanted) {
      const walk = [root];
      for (let node = walk.pop(); node; node = walk.pop()) {
        if (node.kind !== "root" && matches(node)) {
          found += node.value;
          if (!largest || node.value > largest.value) largest = node;
        }
        else walk.push(...node.sorted);
      }
    }
    replace(
      head,
      h("h2", {}, h("span", { class: "big", id: "flame-total", "data-value": whole }, counts() ? `${count(whole)} allocations` : size(whole)), h("span", { class: "muted" }, ` ${describe(where, state().metric)}`)),
      before ? h("p", { class: "muted" }, `Compared with ${context.index.recordings[state().other ?? 0]?.file ?? ""}: ${counts() ? count(root.before) : size(root.before)} there, ${counts() ? count(root.value - root.before) : signed(root.value - root.before)} here.`) : null,
      h("p", { class: "legend-line" },
        ...(before
          ? [["var(--more)", "more here"], ["var(--less)", "less here"], ["var(--hole)", "equal"]]
          : [["var(--flame-own)", "your code"], ["var(--flame-python)", "Python libraries"], ["var(--flame-native)", "native code"]].filter(([, text]) => text !== "native code" || frames() !== "own")
        ).map(([color, text]) => h("span", { class: "legend-item" }, color === "var(--hole)" ? freeSwatch() : swatch(color!), text!)),
        frames() === "python" ? button("Show native frames", () => change({ frames: "all", root: "" }), { class: "quiet", title: "They lead from Python to the call that allocates" }) : null,
        wanted ? h("span", { class: "legend-item" }, swatch("var(--flame-match)"), `found: ${amount(found)}, ${percent(found, whole) || "0 %"}`) : null,
        largest && largest !== zoomed ? zoomButton(largest) : null,
        zoomed !== root ? button("Show all frames", () => change({ root: "" }), { class: "quiet", title: "Key: Escape" }) : null),
    );
  };
  /** What was found may be narrower than a pixel. */
  const zoomButton = (node: FlameNode): HTMLElement => button("Zoom to it", () => change({ root: pathOf(node) }), { class: "quiet", title: "The largest frame that was found fills the width" });
  const drawTable = (): void => {
    const outer = h("details", { ontoggle: () => isOpen() && fill() }, h("summary", {}, "The same as a table"));
    const isOpen = (): boolean => (outer as HTMLDetailsElement).open;
    const fill = (): void => {
      if (outer.childElementCount === 1) add(outer, frameTable());
    };
    (outer as HTMLDetailsElement).open = tableIsOpen();
    if (tableIsOpen()) fill();
    replace(table, outer);
  };
  const tableIsOpen = (): boolean => table.querySelector("details")?.open ?? false;
  /** The frames at the zoomed one and below it, outermost first. Made only for a user who opens it. */
  const frameTable = (): HTMLElement => {
    const rows: { node: FlameNode; self: number }[] = [];
    const walk: FlameNode[] = [zoomed];
    while (walk.length > 0 && rows.length < 2000) {
      const node = walk.shift()!;
      const below = node.sorted.reduce((sum, child) => sum + child.value, 0);
      if (node.kind !== "root") rows.push({ node, self: node.value - below });
      walk.push(...node.sorted.filter((child) => child.value > 0));
    }
    return makeTable({
      caption: "Frames of the flame graph",
      rows,
      sort: "-value",
      limit: 50,
      columns: [
        { id: "name", name: "Frame", value: (row) => row.node.name, cell: (row) => h("span", { class: "cut wide", title: row.node.name }, row.node.name), className: "main" },
        { id: "where", name: "Where", value: (row) => row.node.where, cell: (row) => cutPath(row.node.where, "wide") },
        { id: "depth", name: "Depth", numeric: true, value: (row) => row.node.depth, cell: (row) => String(row.node.depth) },
        { id: "value", name: "With callees", numeric: true, value: (row) => row.node.value, cell: (row) => amount(row.node.value) },
        { id: "self", name: "Itself", numeric: true, value: (row) => row.self, cell: (row) => amount(row.self) },
      ],
    });
  };
  const loadOther = async (): Promise<void> => {
    const now = state();
    const key = `${now.other} ${now.metric} ${now.from} ${now.to} ${now.cursor}`;
    if (now.other === null || now.other === recording.number) {
      before = null;
      beforeOf = "";
      return;
    }
    if (key === beforeOf) return;
    const entry = context.index.recordings[now.other];
    const number = entry?.devices.find((each) => each.packet)?.device;
    if (!entry || number === undefined) return;
    const second = await loadRecording(now.other);
    const device = await loadDevice(now.other, number, second.durationNs);
    const layer = device.layers.find((each) => each.name === context.layer!.name) ?? device.layers[0];
    if (!layer) return;
    // Moments of one recording mean nothing in another one: ranges and cursors are of the whole there.
    before = { recording: second, weights: weigh({ recording: second, device, layer, cursor: null, from: null, to: null }, now.metric) };
    beforeOf = key;
  };
  const boxAt = (event: MouseEvent): Box | null => {
    const rectangle = surface.canvas.getBoundingClientRect();
    const x = event.clientX - rectangle.left;
    const row = Math.floor((event.clientY - rectangle.top) / ROW);
    return boxes.find((each) => each.row === row && x >= each.x && x < each.x + Math.max(1, each.width)) ?? null;
  };
  surface.canvas.addEventListener("pointermove", (event) => {
    const found = boxAt(event)?.node ?? null;
    if (found !== hovered) {
      hovered = found;
      surface.draw();
    }
    if (!found) return hideTip();
    const whole = root.value || 1;
    showTip(
      event.clientX, event.clientY,
      h("strong", { class: "tip-title" }, found.name.length > 400 ? `${found.name.slice(0, 400)}\u2026` : found.name),
      found.where ? h("div", { class: "tip-frame" }, found.where) : null,
      tipRow(counts() ? "allocations" : "bytes", `${amount(found.value)}  ${percent(found.value, whole)}`),
      before ? tipRow("in the other recording", amount(found.before)) : null,
      before ? tipRow("difference", counts() ? count(found.value - found.before) : signed(found.value - found.before)) : null,
    );
  });
  surface.canvas.addEventListener("pointerleave", () => {
    hovered = null;
    hideTip();
    surface.draw();
  });
  surface.canvas.addEventListener("click", (event) => {
    const found = boxAt(event);
    if (found) change({ root: found.node === zoomed && zoomed.parent ? pathOf(zoomed.parent) : pathOf(found.node) });
  });
  surface.canvas.tabIndex = 0;
  surface.canvas.addEventListener("keydown", (event) => {
    const parent = zoomed.parent;
    let next: FlameNode | undefined;
    if (event.key === "ArrowDown") next = zoomed.sorted[0];
    else if (event.key === "ArrowUp") next = parent ?? undefined;
    else if (event.key === "ArrowRight" && parent) next = parent.sorted[parent.sorted.indexOf(zoomed) + 1];
    else if (event.key === "ArrowLeft" && parent) next = parent.sorted[parent.sorted.indexOf(zoomed) - 1];
    else return;
    event.preventDefault();
    event.stopPropagation();
    if (next) change({ root: pathOf(next) });
  });
  add(box, controls, head, nothing, surface.element, table);
  drawControls();
  rebuild();
  const compare = (): void => {
    loadOther().then(rebuild, (error: Error) => replace(head, note(`The other recording cannot be shown: ${error.message}`)));
  };
  if (state().other !== null) compare();
  return {
    update(changed) {
      const has = (...keys: string[]): boolean => keys.some((key) => (changed as ReadonlySet<string>).has(key));
      if (has("metric", "frames", "inverted", "other")) drawControls();
      const range = usesRange(state().metric) && has("from", "to");
      const moves = state().metric === "cursor" && has("cursor");
      if (has("metric", "other") || ((range || moves) && before)) compare();
      else if (has("frames", "inverted") || range || moves) rebuild();
      else if (has("root")) {
        zoomed = nodeAt(root, state().root);
        drawHead();
        drawTable();
        surface.draw();
      } else if (has("search")) {
        if (search.value !== state().search) search.value = state().search;
        drawHead();
        surface.draw();
      }
    },
    close() {
      window.clearTimeout(waits);
      surface.close();
      hideTip();
    },
  };
}

export const flame: View = { id: "flame", name: "Flame graph", key: "3", strip: true, mount };
