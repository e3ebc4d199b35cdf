// SPDX-License-Identifier: MIT
// Where things are in the map of ranks: rows and pixels, columns and pixels.
import type { Grid } from "../../model/job_grid";
import { duration } from "../../ui/format";

export interface Layout {
  x: number;
  width: number;
  /** Height of the rows that are visible. */
  height: number;
  /** Height of a row; less than 1 if several rows share a pixel. */
  rowHeight: number;
  /** The first visible row, and how many are visible. */
  first: number;
  rows: number;
  marks: number;
}

export const TOP = 4;
export const BOTTOM = 24;
const LABELS = 56;
const ROW_MOST = 26;
const WIDE = 520;

/** The height of the box for the rows, so that the verdicts and the map fit one screen. */
export function plotHeight(rows: number): number {
  return Math.max(ROW_MOST, Math.min(rows * ROW_MOST, Math.max(260, Math.min(560, Math.round(window.innerHeight * 0.56)))));
}

/** `zoom` is the height of a row; 0: all rows fit. */
export function layoutOf(width: number, height: number, rows: number, zoom: number, scroll: number): Layout {
  const plot = height - TOP - BOTTOM;
  const marks = width >= WIDE ? 148 : 12;
  const fit = plot / Math.max(1, rows);
  const rowHeight = zoom > fit ? zoom : fit;
  const first = zoom > fit ? Math.floor(scroll / rowHeight) : 0;
  return {
    x: LABELS, width: Math.max(1, width - LABELS - marks), height: plot, rowHeight, first, marks,
    rows: zoom > fit ? Math.min(rows - first, Math.ceil(plot / rowHeight)) : rows,
  };
}

export const yOf = (layout: Layout, row: number): number => TOP + (row - layout.first) * layout.rowHeight;

export function rowAt(layout: Layout, y: number, rows: number): number {
  const row = layout.first + Math.floor((y - TOP) / layout.rowHeight);
  return y < TOP || y >= TOP + layout.height || row >= rows ? -1 : row;
}

export function columnAt(layout: Layout, x: number, columns: number): number {
  const column = Math.floor(((x - layout.x) / layout.width) * columns);
  return column < 0 || column >= columns ? -1 : column;
}

export const columnX = (layout: Layout, column: number, columns: number): number => layout.x + (column / columns) * layout.width;

/** "step 12", "steps 24-25" or "1.20 s". */
export function columnName(grid: Grid, column: number): string {
  const from = column * grid.unit;
  if (grid.kind === "step") return grid.unit === 1 ? `step ${from}` : `steps ${from}-${from + grid.unit - 1}`;
  return `${duration(from)} to ${duration(from + grid.unit)}${grid.kind === "own" ? " after its start" : ""}`;
}

/** The shortest text of a column, for the axis. */
export const columnTick = (grid: Grid, column: number): string => (grid.kind === "step" ? String(column * grid.unit) : duration(column * grid.unit));
