// SPDX-License-Identifier: MIT
// The table of all ranks, and the sums by group, host and shared device.
import type { Group, Job, Rank } from "../../data/job";
import { hasRanks } from "../../model/job_verdict";
import { keyOf, nameOf, rankList, wordsOf } from "../../model/job_rows";
import { change, state } from "../../state/state";
import { button, cut, h, replace } from "../../ui/dom";
import { change as signed, count, percent, plural, size } from "../../ui/format";
import { bar, makeTable, type Column } from "../../ui/table";
import { openRank, rankDetail } from "./rank_detail";

/** More ranks than these begin with those that stand out. */
const ONE_SCREEN = 50;

interface Line {
  rank: Rank;
  index: number;
  words: string;
}

const known = (value: number | null): string => (value === null ? "\u2013" : size(value));

function columnsOf(job: Job): Column<Line>[] {
  const { report } = job;
  const most = report.peaks?.max_bytes ?? 1;
  const median = report.peaks?.median_bytes ?? 0;
  const has = (key: "reserved_peak_bytes" | "in_use_bytes"): boolean => report.ranks.some((rank) => (rank[key] ?? 0) > 0);
  const columns: (Column<Line> | null)[] = [
    { id: "rank", name: hasRanks(report) ? "Rank" : "Process", value: (line) => line.rank.rank ?? line.index, cell: (line) => button(nameOf(line.rank).replace(/^rank /, ""), () => change({ rank: keyOf(line.rank) }), { class: "quiet", title: "Select this rank in the map" }) },
    { id: "host", name: "Host", className: "narrow", value: (line) => line.rank.host ?? "", cell: (line) => cut(line.rank.host ?? "\u2013") },
    { id: "peak", name: "Peak", numeric: true, value: (line) => line.rank.peak_bytes ?? -1, cell: (line) => (line.rank.peak_bytes === null ? "\u2013" : bar(size(line.rank.peak_bytes), line.rank.peak_bytes, most)) },
    { id: "more", name: "To the median", title: "The peak, less the median peak of all ranks", numeric: true, value: (line) => (line.rank.peak_bytes ?? median) - median, cell: (line) => (line.rank.peak_bytes === null ? "\u2013" : signed(line.rank.peak_bytes - median)) },
    { id: "share", name: "Of the GPU", numeric: true, value: (line) => (line.rank.peak_bytes ?? 0) / (line.rank.total_bytes || Infinity), cell: (line) => (line.rank.total_bytes ? percent(line.rank.peak_bytes ?? 0, line.rank.total_bytes) : "\u2013") },
    { id: "step", name: "At step", numeric: true, value: (line) => line.rank.peak_step ?? -1, cell: (line) => (line.rank.peak_step === null ? "\u2013" : count(line.rank.peak_step)) },
    has("reserved_peak_bytes") ? { id: "reserved", name: "Reserved", numeric: true, value: (line) => line.rank.reserved_peak_bytes ?? -1, cell: (line) => known(line.rank.reserved_peak_bytes) } : null,
    has("in_use_bytes") ? { id: "used", name: "Device in use", numeric: true, value: (line) => line.rank.in_use_bytes ?? -1, cell: (line) => known(line.rank.in_use_bytes) } : null,
    { id: "steps", name: "Steps", numeric: true, value: (line) => line.rank.steps, cell: (line) => count(line.rank.steps) },
    { id: "words", name: "Stands out", value: (line) => (line.words ? line.words : "\uffff"), cell: (line) => cut(line.words, line.words ? "bad-text" : "") },
    job.recording.some((number) => number >= 0) ? { id: "open", name: "", cell: (line) => ((job.recording[line.index] ?? -1) >= 0 ? button("Open", () => openRank(job, line.index), { class: "quiet", title: "The rank's own views" }) : "") } : null,
  ];
  return columns.filter((column) => column !== null);
}

/** Rows whose rank, host, role, process or words contain the text. A number finds this rank. */
export function filterRanks(lines: Line[], text: string): Line[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return lines;
  if (/^\d+$/.test(wanted)) return lines.filter(({ rank }) => String(rank.rank ?? rank.pid) === wanted);
  return lines.filter(({ rank, words }) => `${nameOf(rank)} ${rank.host ?? ""} ${rank.role ?? ""} ${words}`.toLowerCase().includes(wanted));
}

export function rankTable(job: Job): { element: HTMLElement; update(): void } {
  const lines = job.report.ranks.map((rank, index): Line => ({ rank, index, words: wordsOf(rank).join(", ") }));
  const columns = columnsOf(job);
  const box = h("div");
  const search = h("input", { type: "search", class: "search", placeholder: "rank, host, or words: 1234, node154, grows", "aria-label": "Search in the ranks", oninput: () => change({ filter: search.value }) }) as HTMLInputElement;
  let shown = "";
  const draw = (): void => {
    const { filter, sort } = state();
    shown = filter;
    if (search.value !== filter) search.value = filter;
    replace(box, makeTable<Line>({
      caption: "Ranks of the job", rows: filterRanks(lines, filter), sort: sort || (lines.length > ONE_SCREEN ? "words" : "rank"), limit: ONE_SCREEN, columns,
      onsort: (to) => change({ sort: to }),
      key: (line) => keyOf(line.rank), opened: "", detail: (line) => rankDetail(job, line.index), detailName: "the rank's facts",
      empty: "No rank fits the search.",
    }));
  };
  draw();
  return {
    element: h("section", { class: "rank-table" }, h("h2", { class: "section-gap" }, `All ${plural(lines.length, hasRanks(job.report) ? "rank" : "process", hasRanks(job.report) ? "ranks" : "processes")}`), h("div", { class: "controls" }, search), box),
    update: () => {
      if (state().filter !== shown) draw();
    },
  };
}

function groupTable(job: Job): HTMLElement {
  const { groups, ranks } = job.report;
  const sum = (at: number): number => ranks.reduce((all, rank) => all + (rank.group === at ? (rank.peak_bytes ?? 0) : 0), 0);
  const rows = groups.map((group, at) => ({ group, at, sum: sum(at) }));
  const most = Math.max(1, ...rows.map((row) => row.sum));
  const name = (group: Group): string => [group.role, hasRanks(job.report) ? rankList(group.ranks, 3) : ""].filter(Boolean).join(", ");
  return makeTable({
    caption: "Groups of ranks", rows, sort: "at", empty: job.report.balance_not_judged ?? "No groups.",
    columns: [
      { id: "at", name: "Group", className: "main", value: (row) => row.at, cell: (row) => cut(name(row.group) || `group ${row.at}`) },
      { id: "ranks", name: "Ranks", numeric: true, value: (row) => row.group.ranks.length, cell: (row) => count(row.group.ranks.length) },
      { id: "median", name: "Median peak", numeric: true, value: (row) => row.group.peaks?.median_bytes ?? 0, cell: (row) => known(row.group.peaks?.median_bytes ?? null) },
      { id: "spread", name: "Spread", numeric: true, title: "Highest peak less the lowest", value: (row) => row.group.peaks?.spread_bytes ?? 0, cell: (row) => known(row.group.peaks?.spread_bytes ?? null) },
      { id: "more", name: "Difference", numeric: true, title: "The middle rank, compared with that of the largest group", value: (row) => row.group.difference?.difference_bytes ?? 0, cell: (row) => (row.group.difference ? signed(row.group.difference.difference_bytes) : "\u2013") },
      { id: "sum", name: "Sum of peaks", numeric: true, value: (row) => row.sum, cell: (row) => bar(size(row.sum), row.sum, most) },
    ],
  });
}

function hostTable(job: Job): HTMLElement {
  const { hosts } = job.report;
  const most = hosts[0]?.sum_peak_bytes ?? 1;
  return makeTable({
    caption: "Hosts", rows: hosts, sort: "-sum", limit: 8,
    columns: [
      { id: "host", name: "Host", className: "main", value: (row) => row.host ?? "", cell: (row) => button(row.host ?? "not known", () => change({ filter: row.host ?? "" }), { class: "quiet cut", title: "Its ranks in the table" }) },
      { id: "ranks", name: "Ranks", numeric: true, value: (row) => row.ranks, cell: (row) => count(row.ranks) },
      { id: "sum", name: "Sum of peaks", numeric: true, value: (row) => row.sum_peak_bytes, cell: (row) => bar(size(row.sum_peak_bytes), row.sum_peak_bytes, most) },
    ],
  });
}

function sharedTable(job: Job): HTMLElement | null {
  const { shared_devices: rows } = job.report;
  if (rows.length === 0) return null;
  return h("section", {}, h("h2", { class: "section-gap" }, "GPUs that several processes shared"), makeTable({
    caption: "GPUs that several processes shared", rows, sort: "-sum", limit: 20,
    columns: [
      { id: "uuid", name: "GPU", className: "main", value: (row) => row.uuid ?? "", cell: (row) => cut(row.uuid ?? "not known") },
      { id: "host", name: "Host", value: (row) => row.host ?? "", cell: (row) => cut(row.host ?? "\u2013") },
      { id: "processes", name: "Processes", numeric: true, value: (row) => row.processes, cell: (row) => count(row.processes) },
      { id: "sum", name: "Sum of peaks", numeric: true, value: (row) => row.sum_peak_bytes, cell: (row) => size(row.sum_peak_bytes) },
    ],
  }));
}

export function sumTables(job: Job): HTMLElement {
  return h("div", { class: "two rank-sums" },
    h("section", {}, h("h2", { class: "section-gap" }, "Groups: ranks with like peaks, or of one role"), groupTable(job), sharedTable(job)),
    h("section", {}, h("h2", { class: "section-gap" }, "Hosts"), hostTable(job)));
}
