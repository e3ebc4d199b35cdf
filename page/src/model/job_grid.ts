// SPDX-License-Identifier: MIT
// The curves of all ranks on one axis: a table of ranks and columns, each column some steps or a stretch of time.
import type { Curves, Job } from "../data/job";

export interface Grid {
  /** "step": by number of step. "clock": by time since the first rank's start. "own": by time since each rank's start. */
  kind: "step" | "clock" | "own";
  columns: number;
  /** Steps or nanoseconds of a column. */
  unit: number;
  /** By rank and column: the most bytes in it, and those at its end. NaN: the rank has no curve there. */
  peak: Float64Array;
  end: Float64Array;
}

const MOST_STEPS = 128;
const TIMES = 128;

const hasRows = (curves: Curves): boolean => curves.begin[curves.begin.length - 1]! > 0;
export const hasSteps = (job: Job): boolean => hasRows(job.steps);
export const hasTimes = (job: Job): boolean => hasRows(job.times);

function emptyGrid(kind: Grid["kind"], ranks: number, columns: number, unit: number): Grid {
  return { kind, columns, unit, peak: new Float64Array(ranks * columns).fill(NaN), end: new Float64Array(ranks * columns).fill(NaN) };
}

function put(grid: Grid, cell: number, peak: number, end: number): void {
  const before = grid.peak[cell]!;
  grid.peak[cell] = before >= peak ? before : peak;
  grid.end[cell] = end;
}

/** A row of a curve has a power of two of steps, so the longest row of all ranks is a whole number of each. */
function stepGrid(job: Job): Grid {
  const { begin, at, peak, end: held } = job.steps;
  const ranks = job.report.ranks.length;
  let unit = 1;
  let last = 0;
  for (let i = 0; i < ranks; i++) {
    const [first, end] = [begin[i]!, begin[i + 1]!];
    if (end - first > 1) unit = Math.max(unit, at[first + 1]! - at[first]!);
    if (end > first) last = Math.max(last, at[end - 1]!, job.report.ranks[i]!.steps - 1);
  }
  while ((last + 1) / unit > MOST_STEPS) unit *= 2;
  const grid = emptyGrid("step", ranks, Math.floor(last / unit) + 1, unit);
  for (let i = 0; i < ranks; i++) {
    for (let row = begin[i]!; row < begin[i + 1]!; row++) {
      const column = Math.floor(at[row]! / unit);
      if (column >= 0 && column < grid.columns) put(grid, i * grid.columns + column, peak[row]!, held[row]!);
    }
  }
  return grid;
}

/** The end of the row's time and its begin, from the length of the rows. */
function timeOfRow(curves: Curves, rank: number, row: number): [begin: number, end: number] {
  const first = curves.begin[rank]!;
  const end = curves.at[row]!;
  if (row > first) return [curves.at[row - 1]!, end];
  const next = row + 1 < curves.begin[rank + 1]! ? curves.at[row + 1]! - end : end;
  return [Math.max(0, end - next), end];
}

function timeGrid(job: Job): Grid {
  const { report } = job;
  // The members are getters: this takes them once.
  const times: Curves = { ...job.times };
  const kind = report.clocks_differ ? "own" : "clock";
  let origin = Infinity;
  for (const rank of report.ranks) origin = Math.min(origin, rank.start_time_ns);
  const startOf = (rank: number): number => (kind === "own" ? 0 : report.ranks[rank]!.start_time_ns - origin);
  let last = 1;
  for (let i = 0; i < report.ranks.length; i++) {
    if (times.begin[i + 1]! > times.begin[i]!) last = Math.max(last, startOf(i) + times.at[times.begin[i + 1]! - 1]!);
  }
  const grid = emptyGrid(kind, report.ranks.length, TIMES, last / TIMES);
  for (let i = 0; i < report.ranks.length; i++) {
    for (let row = times.begin[i]!; row < times.begin[i + 1]!; row++) {
      const [begin, end] = timeOfRow(times, i, row);
      const from = Math.max(0, Math.floor((startOf(i) + begin) / grid.unit));
      const to = Math.min(TIMES - 1, Math.ceil((startOf(i) + end) / grid.unit) - 1);
      for (let column = from; column <= to; column++) put(grid, i * TIMES + column, times.peak[row]!, times.end[row]!);
    }
  }
  return grid;
}

const made = new WeakMap<Job, Map<string, Grid>>();

/** The grid by "step" or "time". "auto": by step, if at least half of the ranks with a curve have steps. */
export function gridOf(job: Job, axis: string): Grid {
  const count = (curves: Curves): number => job.report.ranks.filter((_, i) => curves.begin[i + 1]! > curves.begin[i]!).length;
  const byStep = axis === "step" ? hasSteps(job) : axis === "time" ? !hasTimes(job) && hasSteps(job) : hasSteps(job) && 2 * count(job.steps) >= count(job.times);
  const key = byStep ? "step" : "time";
  let grids = made.get(job);
  if (!grids) made.set(job, (grids = new Map()));
  let grid = grids.get(key);
  if (!grid) grids.set(key, (grid = byStep ? stepGrid(job) : timeGrid(job)));
  return grid;
}
