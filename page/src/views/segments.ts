// SPDX-License-Identifier: MIT
// The map of PyTorch's segments: blocks and holes at the cursor.
import { FONT, fitText, makeSurface } from "../chart/surface";
import { cursorAt } from "../chart/strip";
import type { Allocator, Oom, Segments as SegmentsReport } from "../data/report";
import { stepAt } from "../model/axis";
import { bucketAt } from "../model/buckets";
import { keyOfSite } from "../model/groups";
import { lastMoment } from "../model/moments";
import { siteLine } from "../model/names";
import { poolOfRequest, segmentsAt, type Piece, type Pool, type Segment, type SegmentMap } from "../model/segments";
import { change, state } from "../state/state";
import { add, button, freeSwatch, h, note, replace, swatch } from "../ui/dom";
import { fact } from "../ui/fact";
import { count, duration, percent, plural, size } from "../ui/format";
import { categoryMeaning } from "../ui/meanings";
import { colorOf } from "../ui/palette";
import { hideTip, showTip, tipRow } from "../ui/tooltip";
import { endReason, otherMoments } from "./empty_view";
import { whereOf, type Context, type Mounted, type View } from "./view";

const ROW = 22;
const GAP = 6;
const HEAD = 22;

const POOLS: { pool: Pool; text: string }[] = [
  { pool: "large", text: "Large pool, for requests above 1 MiB" },
  { pool: "small", text: "Small pool, for requests up to 1 MiB" },
];

interface Cell {
  segment: Segment;
  x: number;
  y: number;
  width: number;
  scale: number;
}

interface Head {
  y: number;
  text: string;
}

/** Lays the segments of each pool out in rows, largest first, all at one scale. */
function layOut(map: SegmentMap, width: number): { cells: Cell[]; heads: Head[]; height: number } {
  const largest = Math.max(1, ...map.segments.map((segment) => segment.bytes));
  const perRow = Math.max(largest, map.reserved / 20);
  const scale = width / perRow;
  const cells: Cell[] = [];
  const heads: Head[] = [];
  let y = 0;
  for (const { pool, text } of POOLS) {
    const segments = map.segments.filter((segment) => segment.pool === pool).sort((a, b) => b.bytes - a.bytes || a.address - b.address);
    if (segments.length === 0) continue;
    const bytes = segments.reduce((sum, segment) => sum + segment.bytes, 0);
    const used = segments.reduce((sum, segment) => sum + segment.usedBytes, 0);
    heads.push({ y, text: `${text}: ${plural(segments.length, "segment")}, ${size(bytes)}, ${percent(used, bytes) || "0 %"} in use, largest hole ${size(map.largestHoleOf[pool])}` });
    y += HEAD;
    let x = 0;
    for (const segment of segments) {
      const wide = Math.min(width, Math.max(3, segment.bytes * scale));
      if (x > 0 && x + wide > width + 0.5) {
        x = 0;
        y += ROW + GAP;
      }
      cells.push({ segment, x, y, width: wide, scale: wide / segment.bytes });
      x += wide + (wide > 12 ? 3 : 1.5);
    }
    y += ROW + 2 * GAP;
  }
  return { cells, heads, height: Math.max(ROW, y - GAP) };
}

function reportTable(rows: SegmentsReport[]): HTMLElement {
  const line = (name: string, cell: (row: SegmentsReport) => string): HTMLElement =>
    h("tr", {}, h("th", { scope: "row" }, name), ...rows.map((row) => h("td", { class: "number" }, cell(row))));
  return h("table", { class: "plain counted" },
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, h("span", { class: "hidden-text" }, "Number")), ...rows.map((row) => h("th", { scope: "col", class: "number head" }, row.moment === "peak" ? "at the peak" : "at the end")))),
    h("tbody", {},
      line("Segments", (row) => count(row.segments)),
      line("Reserved", (row) => size(row.reserved_bytes)),
      line("Allocated, in blocks", (row) => size(row.allocated_bytes)),
      line("In empty segments: empty_cache() frees it", (row) => size(row.empty_bytes)),
      line("Free next to blocks", (row) => size(row.hole_bytes)),
      line("Largest hole", (row) => size(row.largest_hole_bytes)),
      line("Reserved / allocated", (row) => (row.allocated_bytes > 0 ? (row.reserved_bytes / row.allocated_bytes).toFixed(2) : "\u2013"))));
}

/** The two pools of PyTorch's allocator, as its own statistics count them over the whole run. */
function poolTable(allocator: Allocator | undefined): HTMLElement | null {
  if (!allocator?.knows_segments || !allocator.stats.reserved_bytes?.large_pool) return null;
  const of = (row: string, pool: string): number => allocator.stats[row]?.[pool]?.peak ?? 0;
  const line = (name: string, row: string, text: (value: number) => string): HTMLElement =>
    h("tr", {}, h("th", { scope: "row" }, name), ...["large_pool", "small_pool"].map((pool) => h("td", { class: "number" }, text(of(row, pool)))));
  return h("section", { class: "panel" }, h("h2", {}, "PyTorch's two pools: the most of each number over the run"),
    h("table", { class: "plain counted" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, h("span", { class: "hidden-text" }, "Number")), ...["large pool", "small pool"].map((name) => h("th", { scope: "col", class: "number head" }, name)))),
      h("tbody", {},
        line("Segments", "segment", count),
        line("Reserved", "reserved_bytes", size),
        line("Allocated, in blocks", "allocated_bytes", size),
        line("Free next to blocks", "inactive_split_bytes", size))),
    note("Requests above 1 MiB come from the large pool, all others from the small one. A hole of one pool cannot serve a request of the other. The recording does not say which stream a block belongs to."));
}

function mount(box: HTMLElement, context: Context): Mounted {
  const where = whereOf(context);
  const { recording } = context;
  const rows = recording.report.segments.filter((row) => row.device === context.device?.device);
  const torch = where?.device.layers.find((layer) => layer.name === "torch");
  if (!where || !torch || rows.length === 0) {
    add(box, note("PyTorch reserved no segment on this device."));
    return {};
  }
  const { device, layer } = where;
  const moment = (): number => state().cursor ?? torch.peakNs;
  let map = segmentsAt(recording, device, moment());
  let cells: Cell[] = [];
  const categories = [...new Set(recording.sites.map((site) => site.category))];
  const color = (block: number): string => {
    const [, name] = keyOfSite(recording, "category", device.blocks.site[block]!);
    return colorOf("category", name, categories.indexOf(name));
  };
  const surface = makeSurface("map", "Map of PyTorch's segments", ({ context: c, width, ink }) => {
    const laid = layOut(map, width);
    cells = laid.cells;
    if (surface.element.style.height !== `${laid.height}px`) {
      surface.element.style.height = `${laid.height}px`;
      surface.draw();
      return;
    }
    c.font = FONT;
    c.textBaseline = "middle";
    c.textAlign = "left";
    c.fillStyle = ink.muted;
    for (const head of laid.heads) c.fillText(fitText(c, head.text, width), 0, head.y + HEAD / 2 - 1);
    for (const cell of cells) {
      c.fillStyle = ink.hole;
      c.fillRect(cell.x, cell.y, cell.width, ROW);
      for (const piece of cell.segment.pieces) {
        if (piece.block < 0) continue;
        const x = cell.x + (piece.address - cell.segment.address) * cell.scale;
        c.fillStyle = color(piece.block);
        c.fillRect(x, cell.y, Math.max(0.6, piece.bytes * cell.scale - (piece.bytes * cell.scale > 3 ? 0.75 : 0)), ROW);
      }
      c.strokeStyle = ink.muted;
      c.globalAlpha = 0.6;
      c.lineWidth = 1;
      c.strokeRect(cell.x + 0.5, cell.y + 0.5, Math.max(0.5, cell.width - 1), ROW - 1);
      c.globalAlpha = 1;
    }
  });
  const pieceAt = (event: MouseEvent): { cell: Cell; piece: Piece } | null => {
    const rectangle = surface.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - rectangle.left, event.clientY - rectangle.top];
    const cell = cells.find((each) => x >= each.x && x <= each.x + each.width && y >= each.y && y <= each.y + ROW);
    if (!cell) return null;
    const address = cell.segment.address + (x - cell.x) / cell.scale;
    const piece = cell.segment.pieces.find((each) => address >= each.address && address < each.address + each.bytes);
    return piece ? { cell, piece } : null;
  };
  surface.canvas.addEventListener("pointermove", (event) => {
    const found = pieceAt(event);
    if (!found) return hideTip();
    const { piece, cell } = found;
    const site = piece.block >= 0 ? recording.sites[device.blocks.site[piece.block]!]! : null;
    showTip(event.clientX, event.clientY,
      h("strong", {}, site ? `${size(piece.bytes)}  ${siteLine(recording, site)}` : `${size(piece.bytes)} free`),
      site ? tipRow(site.category, site.operator) : null,
      site ? tipRow("made", duration(device.blocks.beginNs[piece.block]!)) : null,
      tipRow("in a segment of", `${size(cell.segment.bytes)}, ${cell.segment.pool} pool`),
      tipRow("used of it", percent(cell.segment.usedBytes, cell.segment.bytes) || "0 %"),
      tipRow("address", `0x${piece.address.toString(16)}`));
  });
  surface.canvas.addEventListener("pointerleave", hideTip);
  const scrubber = h("input", {
    type: "range", min: 0, max: layer.buckets - 1, class: "scrubber", "aria-label": "Moment", value: bucketAt(layer, moment()),
    oninput: () => change({ cursor: cursorAt(context, layer.beginNs[Number(scrubber.value)]!) }),
  }) as HTMLInputElement;
  const head = h("div");
  const failed = recording.report.ooms.filter((oom) => oom.device === device.device);
  const draw = (): void => {
    map = segmentsAt(recording, device, moment());
    const step = stepAt(recording, moment());
    const request = failed.find((oom) => !oom.recovered) ?? failed[0];
    scrubber.value = String(bucketAt(layer, moment()));
    replace(head,
      h("h2", {}, `${state().cursor === null ? "At the peak" : "At the cursor"}, ${duration(moment())}${step === null ? "" : `, step ${step}`}`),
      h("dl", { class: "facts" },
        fact("Segments", count(map.segments.length)), fact("Reserved", size(map.reserved)), fact("In blocks", `${size(map.usedBytes)}`),
        fact("Share in use", percent(map.usedBytes, map.reserved) || "\u2013"), fact("Largest hole", size(map.largestHole)), fact("Empty segments", count(map.empty))),
      request ? h("p", {}, refused(request, map, moment() === request.time_ns)) : null,
      map.segments.length > 0 && map.usedBytes === 0 ? nothingInBlocks() : null,
      device.blocks.kept < device.blocks.total ? note(`The page has the ${plural(device.blocks.kept, "largest block")} of ${count(device.blocks.total)}. Smaller blocks look like holes here; the table below counts all.`) : null);
    surface.draw();
  };
  const nothingInBlocks = (): HTMLElement =>
    h("div", { class: "nothing spaced-below" }, h("p", {}, `All segments are empty at this moment. ${moment() >= recording.durationNs ? endReason({ ...where, layer: torch }) : ""}`),
      h("div", { class: "legend-actions" }, ...otherMoments({ ...where, layer: torch }, (metric) => change({ cursor: metric === "peak" ? torch.peakNs : cursorAt({ ...context, layer: torch }, (lastMoment(recording, torch)?.ns ?? torch.peakNs) - 1) }), "")));
  const jumps = [["peak", torch.peakNs], ...failed.slice(0, 3).map((oom) => [`out of memory at ${duration(oom.time_ns)}`, oom.time_ns] as const), ["end", recording.durationNs]] as [string, number][];
  add(box,
    h("div", { class: "controls" }, scrubber, ...jumps.map(([name, ns]) => button(`To the ${name}`.replace("the out", "out"), () => change({ cursor: name === "peak" ? torch.peakNs : ns })))),
    h("section", { class: "panel" }, head,
      h("p", { class: "legend-line spaced-below" }, ...categories.filter((name) => name && recording.sites.some((site) => site.layer === "torch" && site.category === name)).map((name) => h("span", { class: "legend-item", title: categoryMeaning(name) }, swatch(colorOf("category", name, categories.indexOf(name))), name)), h("span", { class: "legend-item" }, freeSwatch(), "free")),
      surface.element),
    h("section", { class: "panel" }, h("h2", {}, "All segments, counted by the program"), reportTable(rows)),
    poolTable(recording.report.allocator?.find((each) => each.device === device.device)));
  draw();
  return {
    update: (changed) => {
      if (changed.has("cursor") || changed.has("theme")) draw();
    },
    close: () => {
      surface.close();
      hideTip();
    },
  };
}

/** The refused request next to the holes that could have served it. */
function refused(oom: Oom, map: SegmentMap, isThen: boolean): string {
  const request = oom.requested_bytes;
  const pool = poolOfRequest(request);
  const hole = map.largestHoleOf[pool];
  const then = !isThen && oom.largest_hole_bytes !== null ? ` When it was refused, the largest was ${size(oom.largest_hole_bytes)}.` : "";
  return hole >= request
    ? `The refused request of ${size(request)} fits the largest hole of the ${pool} pool at this moment, ${size(hole)}.${then}`
    : `The refused request of ${size(request)} does not fit the ${pool} pool at this moment: its largest hole, ${size(hole)}, is ${size(request - hole)} too small.${then}`;
}

export const segments: View = {
  id: "segments", name: "Segments", key: "6", strip: true, mount,
  isEmpty: (context) => !context.recording.report.segments.some((row) => row.device === context.device?.device),
};
