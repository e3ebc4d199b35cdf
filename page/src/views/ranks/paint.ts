// SPDX-License-Identifier: MIT
// Paints the map of ranks: the cells, the numbers of ranks and steps, the groups, and what stands out.
import { FONT, fitText, type Drawing } from "../../chart/surface";
import { paintBins } from "../../model/job_bins";
import type { Mark, Row } from "../../model/job_rows";
import type { Values } from "../../model/job_values";
import type { Job } from "../../data/job";
import { heatColors } from "../../ui/heat_colors";
import { colorOf } from "../../ui/palette";
import { columnTick, columnX, TOP, yOf, type Layout } from "./layout";

export interface Picture {
  job: Job;
  rows: Row[];
  /** Place of each row by its key. */
  places: Map<string, number>;
  values: Values;
  marks: Mark[];
  /** The selected row and column; -1: none. */
  row: number;
  column: number;
  isFocused: boolean;
}

const image = document.createElement("canvas");
const HATCH = 8;

function paintHatch({ context: c, ink }: Drawing, x: number, y: number, width: number, height: number): void {
  c.save();
  c.beginPath();
  c.rect(x, y, width, height);
  c.clip();
  c.strokeStyle = ink.line;
  c.lineWidth = 1;
  c.beginPath();
  for (let at = x - height; at < x + width; at += HATCH) {
    c.moveTo(at, y + height);
    c.lineTo(at + height, y);
  }
  c.stroke();
  c.restore();
}

function paintCells(drawing: Drawing, layout: Layout, picture: Picture): void {
  const { context: c } = drawing;
  const { values, rows } = picture;
  const { columns } = values.grid;
  const used = Math.min(layout.height, layout.rows * layout.rowHeight);
  paintHatch(drawing, layout.x, TOP, layout.width, used);
  if (columns === 0 || layout.rows === 0) return;
  const lines = Math.min(layout.rows, Math.max(1, Math.round(used * Math.min(3, window.devicePixelRatio || 1))));
  image.width = columns;
  image.height = lines;
  const to = image.getContext("2d")!;
  const data = to.createImageData(columns, lines);
  paintBins(values, rows, layout.first, layout.rows, lines, new Uint32Array(data.data.buffer), heatColors(values.show.signed));
  to.putImageData(data, 0, 0);
  c.save();
  c.beginPath();
  c.rect(layout.x, TOP, layout.width, layout.height);
  c.clip();
  c.imageSmoothingEnabled = false;
  c.drawImage(image, layout.x, TOP, layout.width, layout.rows * layout.rowHeight);
  c.restore();
}

/** Missing ranks have no cells. A dotted line shows them where a row is too low to be seen. */
function paintMissing({ context: c, ink }: Drawing, layout: Layout, { rows }: Picture): void {
  if (layout.rowHeight >= 4) return;
  c.save();
  c.strokeStyle = ink.alarm;
  c.setLineDash([2, 3]);
  let last = -2;
  for (let row = layout.first; row < layout.first + layout.rows; row++) {
    const y = Math.round(yOf(layout, row + 0.5));
    if (rows[row]!.index >= 0 || y === last) continue;
    last = y;
    c.beginPath();
    c.moveTo(layout.x, y);
    c.lineTo(layout.x + layout.width, y);
    c.stroke();
  }
  c.restore();
}

function paintRows(drawing: Drawing, layout: Layout, { job, rows }: Picture): void {
  const { context: c, ink } = drawing;
  c.font = FONT;
  c.textAlign = "right";
  c.textBaseline = "middle";
  const every = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192].find((each) => each * layout.rowHeight >= 18) ?? 16384;
  let group: number | null | undefined;
  let from = 0;
  const band = (end: number): void => {
    if (group === undefined || group === null) return;
    c.fillStyle = group === 0 ? ink.line : colorOf("rank", "", group);
    c.fillRect(layout.x - 7, yOf(layout, from), 5, Math.max(1, (end - from) * layout.rowHeight));
  };
  const end = Math.min(rows.length, layout.first + layout.rows);
  for (let row = layout.first; row < end; row++) {
    const { index, rank } = rows[row]!;
    const its = index < 0 ? null : job.report.ranks[index]!.group;
    if (its !== group) {
      band(row);
      [group, from] = [its, row];
    }
    const y = yOf(layout, row + 0.5);
    if (row % every !== 0 || y > TOP + layout.height - 4) continue;
    c.fillStyle = ink.muted;
    c.fillText(fitText(c, rank === null ? `#${index}` : String(rank), layout.x - 12), layout.x - 11, Math.max(TOP + 6, y));
  }
  band(end);
}

function paintColumns({ context: c, ink }: Drawing, layout: Layout, { values: { grid } }: Picture): void {
  const y = TOP + layout.height + 13;
  const room = grid.kind === "step" ? 40 : 72;
  const every = [1, 2, 5, 10, 20, 25, 50, 100].find((each) => (each * layout.width) / grid.columns >= room) ?? 200;
  c.font = FONT;
  c.fillStyle = ink.muted;
  c.textBaseline = "middle";
  c.textAlign = "right";
  c.fillText(grid.kind === "step" ? "step" : "time", layout.x - 11, y);
  c.textAlign = "center";
  for (let column = 0; column < grid.columns; column += every) {
    const x = columnX(layout, column + (grid.kind === "step" ? 0.5 : 0), grid.columns);
    c.fillRect(x, TOP + layout.height, 1, 4);
    const text = columnTick(grid, column);
    const half = c.measureText(text).width / 2;
    if (x + half <= layout.x + layout.width + layout.marks) c.fillText(text, Math.max(x, layout.x + half), y);
  }
}

/** Labels at the right side, moved apart so that none covers another. */
function paintMarks({ context: c, ink, width }: Drawing, layout: Layout, picture: Picture): void {
  const x = layout.x + layout.width;
  const placed: { y: number; to: number; mark: Mark }[] = [];
  const most = Math.floor(layout.height / 15);
  for (const mark of picture.marks) {
    const [a, b] = [picture.places.get(mark.from), picture.places.get(mark.to)];
    if (a === undefined || b === undefined) continue;
    const [top, bottom] = [yOf(layout, Math.min(a, b)), yOf(layout, Math.max(a, b) + 1)];
    if (bottom < TOP || top > TOP + layout.height) continue;
    const [from, to] = [Math.max(TOP, top), Math.min(TOP + layout.height, bottom)];
    c.fillStyle = mark.alarm ? ink.alarm : ink.text;
    if (to - from > 3) c.fillRect(x + 3, from, 2, to - from);
    const y = (from + to) / 2;
    c.beginPath();
    c.moveTo(x + 3, y);
    c.lineTo(x + 10, y - 4);
    c.lineTo(x + 10, y + 4);
    c.fill();
    if (placed.length < most) placed.push({ y, to: y, mark });
  }
  if (layout.marks < 60) return;
  placed.sort((a, b) => a.y - b.y);
  placed.forEach((each, at) => (each.to = Math.max(each.y, (placed[at - 1]?.to ?? TOP - 8) + 15)));
  for (let at = placed.length - 1, limit = TOP + layout.height - 6; at >= 0; at--, limit -= 15) {
    placed[at]!.to = limit = Math.min(placed[at]!.to, limit);
  }
  c.font = FONT;
  c.textAlign = "left";
  c.textBaseline = "middle";
  for (const { y, to, mark } of placed) {
    c.strokeStyle = ink.muted;
    c.lineWidth = 1;
    if (Math.abs(to - y) > 3) {
      c.beginPath();
      c.moveTo(x + 11, y);
      c.lineTo(x + 18, to);
      c.stroke();
    }
    c.fillStyle = mark.alarm ? ink.alarm : ink.text;
    c.fillText(fitText(c, mark.text, width - x - 22), x + 20, to);
  }
}

/** A box around the row and the cell. A low row has a pointer and a ring, which cover nothing of it. */
function paintSelection({ context: c, ink }: Drawing, layout: Layout, { row, column, values: { grid }, isFocused }: Picture): void {
  if (row < layout.first || row >= layout.first + layout.rows) return;
  const [y, height] = [yOf(layout, row), layout.rowHeight];
  const middle = y + height / 2;
  c.strokeStyle = ink.text;
  c.fillStyle = ink.text;
  c.lineWidth = isFocused ? 3 : 2;
  c.beginPath();
  c.moveTo(layout.x, middle);
  c.lineTo(layout.x - 9, middle - 5);
  c.lineTo(layout.x - 9, middle + 5);
  c.fill();
  const [x, end] = [columnX(layout, column, grid.columns), columnX(layout, column + 1, grid.columns)];
  if (height < 6) {
    if (column < 0) return;
    c.beginPath();
    c.arc((x + end) / 2, middle, 6, 0, 2 * Math.PI);
    c.stroke();
    return;
  }
  if (column >= 0) c.strokeRect(x, y, Math.max(3, end - x), height);
  c.lineWidth = 1;
  c.strokeRect(layout.x - 0.5, y - 0.5, layout.width + 1, height + 1);
}

export function paintMap(drawing: Drawing, layout: Layout, picture: Picture): void {
  paintCells(drawing, layout, picture);
  paintMissing(drawing, layout, picture);
  paintRows(drawing, layout, picture);
  paintColumns(drawing, layout, picture);
  paintMarks(drawing, layout, picture);
  paintSelection(drawing, layout, picture);
}
