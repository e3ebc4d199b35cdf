// SPDX-License-Identifier: MIT
// The rows of the map: all ranks in an order, with a row for each missing rank; what stands out about a rank.
import type { CodePlace, Job, Rank } from "../data/job";
import { count, size } from "../ui/format";

export interface Row {
  /** Index in the report's `ranks`; -1: the rank is missing. */
  index: number;
  rank: number | null;
  /** Names the row in the URL: the rank's number, else host and process. */
  key: string;
}

/** A forged file may claim a million ranks. Then missing ranks have no rows. */
const MOST_MISSING = 8192;

export const keyOf = (rank: Rank): string => (rank.rank !== null ? String(rank.rank) : `${rank.host ?? ""}:${rank.pid}`);
export const nameOf = (rank: Rank): string => (rank.rank !== null ? `rank ${rank.rank}` : keyOf(rank));

export const ORDERS = [
  { value: "rank", text: "Rank" },
  { value: "group", text: "Group" },
  { value: "host", text: "Host" },
  { value: "peak", text: "Peak" },
];

function byRank(job: Job): Row[] {
  const rows: Row[] = job.report.ranks.map((rank, index) => ({ index, rank: rank.rank, key: keyOf(rank) }));
  const missing = job.report.missing_ranks;
  if (missing.length === 0 || missing.length > MOST_MISSING) return rows;
  for (const rank of missing) rows.push({ index: -1, rank, key: String(rank) });
  // Ranks without a number come after all others, as in the report.
  return rows.sort((a, b) => (a.rank ?? Infinity) - (b.rank ?? Infinity) || a.index - b.index);
}

export function rowsOf(job: Job, order: string): Row[] {
  const rows = byRank(job);
  const { ranks } = job.report;
  const last = (row: Row): number => (row.index < 0 ? 1 : 0);
  const compare: Record<string, (a: Rank, b: Rank) => number> = {
    group: (a, b) => (a.group ?? -1) - (b.group ?? -1),
    host: (a, b) => (a.host === b.host ? 0 : (a.host ?? "") < (b.host ?? "") ? -1 : 1),
    peak: (a, b) => (b.peak_bytes ?? -1) - (a.peak_bytes ?? -1),
  };
  const by = compare[order];
  if (by) rows.sort((a, b) => last(a) - last(b) || (a.index < 0 ? 0 : by(ranks[a.index]!, ranks[b.index]!)));
  return rows;
}

/** The words of the table of `gpumemtrace ranks`. */
export function wordsOf(rank: Rank): string[] {
  const ends: Record<string, string> = { out_of_memory: "out of memory", unknown: "unknown end" };
  return [
    rank.end !== "clean" && (ends[rank.end] ?? rank.end),
    rank.first_failure && rank.end !== "out_of_memory" && "refused",
    rank.growth && "grows",
    rank.is_outlier && "outlier",
    rank.peak_bytes === null && "no GPU memory",
    rank.earlier_attempts > 0 && "restarted",
    !rank.complete && "incomplete",
  ].filter((word) => word !== false && word !== null) as string[];
}

/** A line of the program: `train.py:32 in keep`. */
export function placeText({ file, line, function: name }: CodePlace): string {
  if (!file && !name) return "no stack was recorded";
  return `${file ?? ""}${file && line ? `:${line}` : ""}${name ? `${file ? " in " : ""}${name}` : ""}`;
}

/** Ranks as "3, 5-7, 12"; after `most` parts, the number of the others. */
export function rankList(ranks: readonly number[], most = 4): string {
  const parts: string[] = [];
  let shown = 0;
  for (let i = 0; i < ranks.length && parts.length < most; ) {
    let end = i;
    while (end + 1 < ranks.length && ranks[end + 1] === ranks[end]! + 1) end++;
    parts.push(end > i + 1 ? `${ranks[i]}-${ranks[end]}` : end > i ? `${ranks[i]}, ${ranks[end]}` : String(ranks[i]));
    shown += end - i + 1;
    i = end + 1;
  }
  return parts.join(", ") + (shown < ranks.length ? ` and ${count(ranks.length - shown)} more` : "");
}

/** Something that the map marks at its right side. */
export interface Mark {
  /** First and last rank, by their keys. */
  from: string;
  to: string;
  text: string;
  alarm: boolean;
}

/** What stands out, the most important first. */
export function marksOf(job: Job): Mark[] {
  const { report } = job;
  const marks: Mark[] = [];
  const seen = new Set<string>();
  const mark = (key: string | null, text: string): void => {
    if (key === null || seen.has(key)) return;
    seen.add(key);
    marks.push({ from: key, to: key, text: `${key} ${text}`, alarm: true });
  };
  const text = (value: number | null): string | null => (value === null ? null : String(value));
  mark(text(report.out_of_memory.first_rank), "failed first");
  mark(text(report.first_killed_rank), "killed first");
  for (const range of runsOf(report.missing_ranks)) {
    marks.push({ from: String(range[0]), to: String(range[1]), text: `${range[0] === range[1] ? range[0] : `${range[0]}-${range[1]}`} missing`, alarm: true });
  }
  mark(text(report.growth.first_rank), "grows first");
  for (const outlier of report.outliers.slice(0, 32)) {
    const rank = report.ranks[outlier.index]!;
    mark(keyOf(rank), rank.growth ? "grows" : "outlier");
  }
  report.groups.forEach((group, at) => {
    if (at === 0 || group.ranks.length === 0 || !group.difference) return;
    const [first, last] = longest(runsOf(group.ranks));
    const more = group.difference.difference_bytes;
    // Without ranks, a group has indices.
    const key = (number: number): string => (report.ranks.some((rank) => rank.rank === number) ? String(number) : keyOf(report.ranks[number]!));
    marks.push({ from: key(first), to: key(last), text: `${count(group.ranks.length)} ranks ${more < 0 ? "\u2212" : "+"}${size(Math.abs(more))}`, alarm: false });
  });
  return marks;
}

export function runsOf(ranks: readonly number[]): [number, number][] {
  const runs: [number, number][] = [];
  for (const rank of ranks) {
    const last = runs[runs.length - 1];
    if (last && last[1] === rank - 1) last[1] = rank;
    else runs.push([rank, rank]);
  }
  return runs;
}

const longest = (runs: [number, number][]): [number, number] => runs.reduce((a, b) => (b[1] - b[0] > a[1] - a[0] ? b : a));
