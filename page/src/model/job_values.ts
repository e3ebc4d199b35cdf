// SPDX-License-Identifier: MIT
// What the map of ranks shows: a value for each rank and column, the median of each column, and the ends of the scale.
import type { Job, Rank } from "../data/job";
import type { Grid } from "./job_grid";

export interface Show {
  id: string;
  name: string;
  /** What a value is; `%` stands for the step or the time of a column. */
  title: string;
  /** The values are differences: the scale has 0 in its middle. */
  signed: boolean;
  /** One value for each rank: its curve is not in the summaries. */
  constant?: (rank: Rank) => number | null;
}

export const SHOWS: Show[] = [
  { id: "peak", name: "Peak", title: "The most that the rank held in the %", signed: false },
  { id: "end", name: "Held at the end", title: "What the rank still held at the end of the %", signed: false },
  { id: "more", name: "Difference to median", title: "The peak, less the median of all ranks in the same %", signed: true },
  { id: "reserved", name: "Reserved", title: "The most that PyTorch held from CUDA: one value for each rank", signed: false, constant: (rank) => rank.reserved_peak_bytes },
  { id: "used", name: "Device in use", title: "In use on the device, as the driver reported it at the peak: one value for each rank", signed: false, constant: (rank) => rank.in_use_bytes },
];

export const showOf = (id: string): Show => SHOWS.find((each) => each.id === id) ?? SHOWS[0]!;

/** The shows for which the job has values. */
export const showsOf = (job: Job): Show[] => SHOWS.filter((show) => !show.constant || job.report.ranks.some((rank) => (show.constant!(rank) ?? 0) > 0));

export interface Values {
  show: Show;
  grid: Grid;
  /** By rank and column; NaN: none. */
  cells: Float64Array;
  /** Median of each column; NaN: no rank has a value. */
  medians: Float64Array;
  /** The ends of the scale. */
  low: number;
  high: number;
}

/** The middle value; of an even number, the lower of the middle two. */
export function medianOf(sorted: Float64Array): number {
  return sorted.length > 0 ? sorted[(sorted.length - 1) >> 1]! : NaN;
}

function mediansOf(cells: Float64Array, ranks: number, columns: number): Float64Array {
  const medians = new Float64Array(columns);
  const column = new Float64Array(ranks);
  for (let c = 0; c < columns; c++) {
    let count = 0;
    for (let i = 0; i < ranks; i++) {
      const value = cells[i * columns + c]!;
      if (value === value) column[count++] = value;
    }
    medians[c] = medianOf(column.subarray(0, count).sort());
  }
  return medians;
}

function cellsOf(job: Job, grid: Grid, show: Show): Float64Array {
  const source = show.id === "end" ? grid.end : grid.peak;
  if (!show.constant) return Float64Array.from(source);
  const cells = new Float64Array(source.length);
  job.report.ranks.forEach((rank, i) => {
    const value = show.constant!(rank) ?? NaN;
    for (let c = 0; c < grid.columns; c++) {
      const cell = i * grid.columns + c;
      cells[cell] = source[cell] === source[cell] ? value : NaN;
    }
  });
  return cells;
}

/** A scale has at least this part of its largest value, so that noise does not look like a difference. */
const LEAST_PART = 0.02;
const LEAST_BYTES = 1 << 20;

function scaleOf(cells: Float64Array, signed: boolean, size: number): [low: number, high: number] {
  let [low, high] = [Infinity, -Infinity];
  for (const value of cells) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (low > high) return [0, 1];
  const least = Math.max(LEAST_BYTES, LEAST_PART * size);
  if (signed) {
    const most = Math.max(least, -low, high);
    return [-most, most];
  }
  return [Math.max(0, Math.min(low, high - least)), Math.max(high, least)];
}

const made = new WeakMap<Grid, Map<string, Values>>();

export function valuesOf(job: Job, grid: Grid, id: string): Values {
  const show = showOf(id);
  let all = made.get(grid);
  if (!all) made.set(grid, (all = new Map()));
  let values = all.get(show.id);
  if (values) return values;
  const ranks = job.report.ranks.length;
  const cells = cellsOf(job, grid, show);
  let medians = mediansOf(cells, ranks, grid.columns);
  if (show.signed) {
    for (let cell = 0; cell < cells.length; cell++) cells[cell]! -= medians[cell % grid.columns]!;
    medians = medians.map((value) => (value === value ? 0 : NaN));
  }
  const [low, high] = scaleOf(cells, show.signed, job.report.peaks?.median_bytes ?? 0);
  all.set(show.id, (values = { show, grid, cells, medians, low, high }));
  return values;
}

/**
 * The place of a value on the scale, 0 to 1. Differences have a square root on both sides of 0: next to a large
 * difference, a small one is still visible.
 */
export function placeOnScale(values: Pick<Values, "show" | "low" | "high">, value: number): number {
  if (values.show.signed) return 0.5 + (Math.sign(value) * Math.sqrt(Math.min(1, Math.abs(value) / values.high))) / 2;
  return Math.max(0, Math.min(1, (value - values.low) / (values.high - values.low)));
}
