// SPDX-License-Identifier: MIT
// The picture of the map: one pixel for each column, and for each row or, where there are more rows than pixels, for
// several rows.
import { heatColor } from "../ui/heat_colors";
import type { Row } from "./job_rows";
import { placeOnScale, type Values } from "./job_values";

/** The rows of a picture's line: those from `first` up to `end`. */
export interface Bin {
  first: number;
  end: number;
}

export function binOf(line: number, lines: number, first: number, rows: number): Bin {
  const from = first + Math.floor((line * rows) / lines);
  return { first: from, end: Math.max(from + 1, first + Math.floor(((line + 1) * rows) / lines)) };
}

/** Of several rows, the one whose value differs most from the median of the column. So no picture misses an outlier. */
export function rowOfBin(values: Values, rows: readonly Row[], bin: Bin, column: number): number {
  const { cells, medians, grid } = values;
  const middle = medians[column]!;
  let found = -1;
  let most = -1;
  for (let at = bin.first; at < bin.end && at < rows.length; at++) {
    const { index } = rows[at]!;
    if (index < 0) continue;
    const away = Math.abs(cells[index * grid.columns + column]! - middle);
    if (away > most) {
      most = away;
      found = at;
    }
  }
  return found;
}

/** Paints the rows from `first` on into `pixels`, which has a line of `columns` pixels for each of `lines`. */
export function paintBins(values: Values, rows: readonly Row[], first: number, count: number, lines: number, pixels: Uint32Array, colors: Uint32Array): void {
  const { cells, grid } = values;
  for (let line = 0; line < lines; line++) {
    const bin = binOf(line, lines, first, count);
    for (let column = 0; column < grid.columns; column++) {
      const at = bin.end - bin.first === 1 ? bin.first : rowOfBin(values, rows, bin, column);
      const index = at < 0 ? -1 : (rows[at]?.index ?? -1);
      const value = index < 0 ? NaN : cells[index * grid.columns + column]!;
      pixels[line * grid.columns + column] = value === value ? heatColor(colors, placeOnScale(values, value)) : 0;
    }
  }
}
