// SPDX-License-Identifier: MIT
// The map of all ranks and steps. It has one stop of the tab key: arrow keys go from cell to cell, Enter opens the rank.
import { makeSurface } from "../../chart/surface";
import type { Job } from "../../data/job";
import { binOf, rowOfBin } from "../../model/job_bins";
import { gridOf } from "../../model/job_grid";
import { marksOf, nameOf, rowsOf, wordsOf, type Row } from "../../model/job_rows";
import { valuesOf } from "../../model/job_values";
import { change, state } from "../../state/state";
import { h } from "../../ui/dom";
import { change as signed, size } from "../../ui/format";
import { hideTip, showTip, tipRow } from "../../ui/tooltip";
import { BOTTOM, columnAt, columnName, layoutOf, plotHeight, rowAt, TOP, type Layout } from "./layout";
import { paintMap, type Picture } from "./paint";

export interface HeatMap {
  element: HTMLElement;
  /** Applies the state: what is shown, the order, the zoom, the selection. */
  update(): void;
  close(): void;
}

/** The largest height of a row that can be chosen. */
export const HIGH = 14;

export const ZOOMS = [
  { value: "0", text: "All" },
  { value: "4", text: "4 px" },
  { value: String(HIGH), text: `${HIGH} px` },
];

/** The height of a row, 0 if all rows fit. The URL may name any. */
export const zoomNow = (): number => (ZOOMS.some((each) => Number(each.value) === state().zoom) ? state().zoom : 0);

/** What is known of a cell, as pairs of a name and a value. */
export function cellFacts(job: Job, picture: Pick<Picture, "values">, row: Row, column: number): [name: string, value: string][] {
  const { values } = picture;
  const { grid } = values;
  if (row.index < 0) return [["missing", "no file"]];
  const rank = job.report.ranks[row.index]!;
  const facts: [string, string][] = [["host", rank.host ?? "not known"]];
  const words = wordsOf(rank);
  if (words.length > 0) facts.push(["stands out", words.join(", ")]);
  if (column < 0) return facts;
  const cell = row.index * grid.columns + column;
  const peak = grid.peak[cell]!;
  if (peak !== peak) return [...facts, [columnName(grid, column), "no data"]];
  facts.push([columnName(grid, column), `peak ${size(peak)}`], ["held at its end", size(grid.end[cell]!)]);
  const middle = valuesOf(job, grid, "peak").medians[column]!;
  facts.push(["median of all ranks", size(middle)], ["difference", signed(peak - middle)]);
  if (values.show.constant) facts.push([values.show.name.toLowerCase(), size(values.cells[cell]!)]);
  return facts;
}

export function makeHeatMap(job: Job, onopen: (index: number) => void): HeatMap {
  const scroller = h("div", { class: "heat-scroll" });
  const space = h("div", { class: "heat-space", "aria-hidden": "true" });
  const status = h("p", { class: "hidden-text", role: "status" });
  let order = "";
  let isFocused = false;
  const picture: Picture = { job, rows: [], places: new Map(), values: valuesOf(job, gridOf(job, "auto"), "peak"), marks: marksOf(job), row: -1, column: -1, isFocused: false };
  const layout = (): Layout => layoutOf(surface.width(), surface.height(), picture.rows.length, zoomNow(), scroller.scrollTop);
  const surface = makeSurface("heat", "Map of ranks and steps", (drawing) => {
    paintMap(drawing, layoutOf(drawing.width, drawing.height, picture.rows.length, zoomNow(), scroller.scrollTop), { ...picture, isFocused });
  });
  const { canvas } = surface;
  scroller.append(surface.element, space);

  const update = (): void => {
    const now = state();
    if (now.order !== order || picture.rows.length === 0) {
      order = now.order;
      picture.rows = rowsOf(job, order);
      picture.places = new Map(picture.rows.map((row, at) => [row.key, at]));
    }
    picture.values = valuesOf(job, gridOf(job, now.axis), now.show);
    picture.row = picture.places.get(now.rank) ?? -1;
    picture.column = now.step === null ? -1 : Math.max(0, Math.min(picture.values.grid.columns - 1, Math.floor(now.step / picture.values.grid.unit + 0.01)));
    const height = plotHeight(picture.rows.length);
    const rows = Math.max(height, zoomNow() * picture.rows.length);
    surface.element.style.height = `${height + TOP + BOTTOM}px`;
    scroller.style.height = `${height + TOP + BOTTOM}px`;
    space.style.height = `${rows - height}px`;
    canvas.setAttribute("aria-valuemax", String(picture.rows.length - 1));
    canvas.setAttribute("aria-valuenow", String(Math.max(0, picture.row)));
    canvas.setAttribute("aria-valuetext", textOf(picture.row));
    surface.draw();
  };
  const textOf = (at: number): string => {
    const row = picture.rows[at];
    if (!row) return "no rank is selected";
    const name = row.index < 0 ? `rank ${row.rank}` : nameOf(job.report.ranks[row.index]!);
    return `${name}: ${cellFacts(job, picture, row, picture.column).map(([key, value]) => `${key} ${value}`).join(", ")}`;
  };
  /** Scrolls until a row is in sight. */
  const reveal = (row: number): void => {
    const { rowHeight, height } = layout();
    if (zoomNow() === 0 || rowHeight !== zoomNow()) return;
    const y = row * rowHeight;
    if (y < scroller.scrollTop || y + rowHeight > scroller.scrollTop + height) scroller.scrollTop = y - height / 2;
  };
  const select = (row: number, column: number): void => {
    const to = Math.max(0, Math.min(picture.rows.length - 1, row));
    const { grid } = picture.values;
    const at = Math.max(0, Math.min(grid.columns - 1, column));
    reveal(to);
    change({ rank: picture.rows[to]!.key, step: at * grid.unit });
  };
  /** The row that a pixel shows. */
  const rowUnder = (event: MouseEvent): { row: number; column: number; others: number } | null => {
    const box = canvas.getBoundingClientRect();
    const where = layout();
    const { grid } = picture.values;
    const column = columnAt(where, event.clientX - box.left, grid.columns);
    const y = event.clientY - box.top;
    const row = rowAt(where, y, picture.rows.length);
    if (row < 0) return null;
    if (where.rowHeight >= 1 || column < 0) return { row, column, others: 0 };
    const used = Math.min(where.height, where.rows * where.rowHeight);
    const lines = Math.min(where.rows, Math.max(1, Math.round(used * Math.min(3, window.devicePixelRatio || 1))));
    const bin = binOf(Math.min(lines - 1, Math.floor(((y - TOP) / used) * lines)), lines, where.first, where.rows);
    const found = rowOfBin(picture.values, picture.rows, bin, column);
    return { row: found < 0 ? row : found, column, others: bin.end - bin.first - 1 };
  };
  canvas.addEventListener("pointermove", (event) => {
    const at = rowUnder(event);
    if (!at) return hideTip();
    const row = picture.rows[at.row]!;
    const name = row.index < 0 ? `rank ${row.rank}` : nameOf(job.report.ranks[row.index]!);
    showTip(event.clientX, event.clientY,
      h("strong", { class: "tip-title" }, name),
      ...cellFacts(job, picture, row, at.column).map(([key, value]) => tipRow(key, value)),
      at.others > 0 ? h("div", { class: "tip-frame" }, `of ${at.others + 1} ranks in this line, the one that differs most`) : null);
  });
  canvas.addEventListener("pointerleave", hideTip);
  canvas.addEventListener("click", (event) => {
    const at = rowUnder(event);
    if (at) select(at.row, at.column < 0 ? Math.max(0, picture.column) : at.column);
  });
  canvas.addEventListener("dblclick", () => open());
  const open = (): void => {
    const index = picture.rows[picture.row]?.index ?? -1;
    if (index >= 0) onopen(index);
  };
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "slider");
  canvas.setAttribute("aria-valuemin", "0");
  canvas.setAttribute("aria-description", "Arrow keys choose rank and step, n and Shift n go to ranks that stand out, Enter opens the rank");
  canvas.addEventListener("focus", () => {
    isFocused = true;
    surface.draw();
  });
  canvas.addEventListener("blur", () => {
    isFocused = false;
    surface.draw();
  });
  /** Goes to the next row that stands out. */
  const next = (direction: number): void => {
    const found = [...new Set(picture.marks.map((mark) => picture.places.get(mark.from)).filter((row) => row !== undefined))].sort((a, b) => a - b);
    if (found.length === 0) return;
    const after = direction > 0 ? found.find((row) => row > picture.row) : found.reverse().find((row) => row < picture.row);
    select(after ?? found[0]!, Math.max(0, picture.column));
  };
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const by = event.shiftKey ? 10 : 1;
    const [row, column] = [picture.row, picture.column];
    const page = Math.max(2, Math.round(picture.rows.length / 10));
    const moves: Record<string, [number, number]> = {
      ArrowUp: [row - by, column], ArrowDown: [row + by, column], ArrowLeft: [row, column - by], ArrowRight: [row, column + by],
      PageUp: [row - page, column], PageDown: [row + page, column], Home: [0, column], End: [picture.rows.length - 1, column],
    };
    const to = moves[event.key];
    if (to) select(to[0], to[1]);
    else if (event.key.toLowerCase() === "n") next(event.shiftKey ? -1 : 1);
    else if (event.key === "Enter") open();
    else if (event.key === "+" || event.key === "=") zoomBy(1);
    else if (event.key === "-") zoomBy(-1);
    else if (event.key === "Escape") change({ rank: "", step: null });
    else return;
    event.preventDefault();
    event.stopPropagation();
    window.setTimeout(() => (status.textContent = textOf(picture.row)), 50);
  });
  scroller.addEventListener("scroll", () => surface.draw(), { passive: true });
  const resize = (): void => update();
  window.addEventListener("resize", resize);
  const zoomBy = (by: number): void => {
    const levels = ZOOMS.map((each) => Number(each.value));
    change({ zoom: levels[Math.max(0, Math.min(levels.length - 1, levels.indexOf(zoomNow()) + by))]! });
  };
  let zoom = 0;
  update();
  const revealSoon = (): void => {
    requestAnimationFrame(() => reveal(Math.max(0, picture.row)));
  };
  if (zoomNow() !== 0) revealSoon();
  return {
    element: h("div", { class: "heat-box" }, scroller, status),
    update() {
      update();
      if (zoom !== zoomNow()) {
        zoom = zoomNow();
        revealSoon();
      }
    },
    close() {
      window.removeEventListener("resize", resize);
      surface.close();
    },
  };
}
