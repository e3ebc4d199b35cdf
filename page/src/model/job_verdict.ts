// SPDX-License-Identifier: MIT
// The verdicts of `gpumemtrace ranks`, from the same numbers, as the page shows them: a headline, and a line for each
// question.
import type { CodePlace, Difference, Group, Job, Rank, RanksReport, Spread } from "../data/job";
import { count, percent, plural, size } from "../ui/format";
import { keyOf, nameOf, placeText, rankList } from "./job_rows";

export interface Verdict {
  label: string;
  text: string;
  bad: boolean;
  /** The lines of the program that make the difference. */
  lines: string[];
  /** Ranks to look at, by their keys. */
  ranks: { key: string; name: string }[];
}

const signed = (bytes: number): string => `${bytes < 0 ? "\u2212" : "+"}${size(Math.abs(bytes))}`;
const share = (bytes: number, base: number): string => (base > 0 ? ` (${percent(Math.abs(bytes), base)})` : "");
const line = (text: string, place: CodePlace): string => `${text}  ${placeText(place)}`;
const differenceLines = (difference: Difference): string[] =>
  difference.lines.length > 0 ? difference.lines.slice(0, 2).map((each) => line(signed(each.difference_bytes), each.place)) : ["no line explains it"];

export const hasRanks = (report: RanksReport): boolean => report.ranks.some((rank) => rank.rank !== null);

const rankOf = (report: RanksReport, number: number | null): Rank | undefined => (number === null ? undefined : report.ranks.find((rank) => rank.rank === number));

/** "train.py, slurm job 4711.0: 4,095 of 4,096 ranks on 512 hosts, 100 steps". */
export function titleOf(report: RanksReport): string {
  const missing = report.missing_ranks.length;
  const all = report.ranks.length + missing;
  const unit = hasRanks(report) ? "rank" : "process";
  const steps = report.most_steps === 0 ? "" : report.least_steps === report.most_steps ? `, ${plural(report.most_steps, "step")}` : `, ${count(report.least_steps)} to ${count(report.most_steps)} steps`;
  return `${report.ranks[0]?.program ?? ""}, ${report.job ?? ""}: ${missing > 0 ? `${count(report.ranks.length)} of ` : ""}${plural(all, unit, unit === "process" ? "processes" : "ranks")} on ${plural(report.hosts.length, "host")}${steps}`;
}

const groupName = (report: RanksReport, group: Group): string =>
  `${group.role ? `${group.role}, ` : ""}${plural(group.ranks.length, "rank")}${hasRanks(report) ? ` (${rankList(group.ranks, 2)})` : ""}`;

/** The answer in one sentence: what is different, what grew, what died. */
export function headlineOf(report: RanksReport): string {
  const parts: string[] = [];
  const failed = rankOf(report, report.out_of_memory.first_rank);
  const killed = rankOf(report, report.first_killed_rank);
  const grown = rankOf(report, report.growth.first_rank);
  const [missing] = report.missing_ranks;
  if (failed) parts.push(`${nameOf(failed)} ran out of memory${report.out_of_memory.ranks > 1 ? ` first of ${count(report.out_of_memory.ranks)}` : ""}`);
  if (killed && killed !== failed) parts.push(`${nameOf(killed)} was killed${(report.ends.killed ?? 0) > 1 ? ` first of ${count(report.ends.killed!)}` : ""}`);
  if (missing !== undefined) parts.push(report.missing_ranks.length === 1 ? `rank ${missing} is missing` : `${count(report.missing_ranks.length)} ranks are missing`);
  if (grown) {
    const rate = grown.growth?.step_bytes ? ` by ${size(grown.growth.step_bytes)} a step` : "";
    parts.push(report.growth.ranks > 1 ? `${count(report.growth.ranks)} ranks grow, ${nameOf(grown)} first${rate}` : `${nameOf(grown)} grows${rate}`);
  } else if (report.growth.ranks > 0) parts.push(`${plural(report.growth.ranks, "process", "processes")} grow`);
  const outliers = report.outliers.filter((each) => report.ranks[each.index] !== grown);
  if (outliers[0]) parts.push(outliers.length > 1 ? `${count(outliers.length)} more ranks are outliers` : `${nameOf(report.ranks[outliers[0].index]!)} differs by ${signed(outliers[0].difference_bytes)}`);
  const group = report.groups.slice(1).sort((a, b) => Math.abs(b.difference?.difference_bytes ?? 0) - Math.abs(a.difference?.difference_bytes ?? 0))[0];
  if (group?.difference) {
    const bytes = group.difference.difference_bytes;
    parts.push(`${group.role ?? plural(group.ranks.length, "rank")} ${group.role || group.ranks.length === 1 ? "holds" : "hold"} ${size(Math.abs(bytes))} ${bytes < 0 ? "less" : "more"}`);
  }
  if (parts.length === 0) {
    const { peaks } = report;
    return peaks ? `All ${plural(report.ranks.length, hasRanks(report) ? "rank" : "process", hasRanks(report) ? "ranks" : "processes")} hold about the same: ${size(peaks.median_bytes)}` : "No rank held device memory";
  }
  const text = parts.slice(0, 4).join("; ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const plain = (label: string, text: string): Verdict => ({ label, text, bad: false, lines: [], ranks: [] });

const spread = (label: string, value: Spread): Verdict =>
  plain(label, `${size(value.min_bytes)} to ${size(value.max_bytes)}, median ${size(value.median_bytes)}, spread ${size(value.spread_bytes)}${share(value.spread_bytes, value.median_bytes)}`);

function missingVerdict(report: RanksReport): Verdict | null {
  if (!hasRanks(report)) return null;
  if (report.missing_ranks.length === 0) return plain("Missing", report.world_size === null ? "none, if the highest rank is the last: no size was recorded" : "none");
  return {
    ...plain("Missing", `${report.missing_ranks.length === 1 ? "rank" : "ranks"} ${rankList(report.missing_ranks)}: no file`), bad: true,
    ranks: [{ key: String(report.missing_ranks[0]), name: `rank ${report.missing_ranks[0]}` }],
  };
}

function outlierVerdicts(report: RanksReport): Verdict[] {
  if (report.outliers_not_judged) return [plain("Outliers", `not judged: ${report.outliers_not_judged}`)];
  if (report.outliers.length === 0) return [plain("Outliers", "none")];
  return report.outliers.slice(0, 2).map((each, at) => {
    const rank = report.ranks[each.index]!;
    const than = each.compared_with_rank === null ? "another" : `rank ${each.compared_with_rank}`;
    const base = (rank.peak_bytes ?? 0) - each.difference_bytes;
    const more = at === 0 && report.outliers.length > 2 ? `; ${count(report.outliers.length - 2)} more` : "";
    return {
      label: at === 0 ? "Outliers" : "", bad: true, lines: differenceLines(each).slice(0, 1),
      text: `${nameOf(rank)}: ${size(rank.peak_bytes ?? 0)}, ${signed(each.difference_bytes)}${share(each.difference_bytes, base)} compared with ${than}${more}`,
      ranks: [{ key: keyOf(rank), name: nameOf(rank) }],
    };
  });
}

function balanceVerdicts(report: RanksReport): Verdict[] {
  const [first, ...others] = report.groups;
  if (report.balance_not_judged || !first) return [plain("Balance", `not judged: ${report.balance_not_judged ?? "no rank held device memory"}`)];
  const middle = first.peaks ? size(first.peaks.median_bytes) : "";
  if (others.length === 0) return [plain("Balance", `${plural(first.ranks.length, "rank")} ${first.ranks.length === 1 ? "has a peak of" : "have like peaks, around"} ${middle}`)];
  const different = others.sort((a, b) => Math.abs(b.difference?.difference_bytes ?? 0) - Math.abs(a.difference?.difference_bytes ?? 0));
  const rows = [plain("Balance", `${report.groups.length} groups; ${groupName(report, first)}: ${middle}`)];
  for (const group of different.slice(0, 1)) {
    if (!group.difference || !group.peaks) continue;
    rows.push({
      label: "", bad: true, lines: differenceLines(group.difference).slice(0, 1),
      text: `${groupName(report, group)}: ${size(group.peaks.median_bytes)}, ${signed(group.difference.difference_bytes)}${share(group.difference.difference_bytes, first.peaks?.median_bytes ?? 0)}${others.length > 1 ? `; ${others.length - 1} more` : ""}`,
      ranks: [{ key: keyOf(report.ranks[group.difference.index]!), name: nameOf(report.ranks[group.difference.index]!) }],
    });
  }
  return rows;
}

function growthVerdict(report: RanksReport): Verdict {
  const { growth } = report;
  const all = report.ranks.length;
  if (growth.ranks === 0) {
    if (growth.ranks_not_judged === 0) return plain("Growth", "none found");
    if (growth.ranks_not_judged === all) return plain("Growth", `not judged: ${growth.why_not_judged}`);
    return plain("Growth", `none found in ${plural(all - growth.ranks_not_judged, "rank")}; ${count(growth.ranks_not_judged)} not judged: ${growth.why_not_judged}`);
  }
  const first = rankOf(report, growth.first_rank) ?? report.ranks.find((rank) => rank.growth)!;
  const found = first.growth!;
  return {
    label: "Growth", bad: true,
    text: `${count(growth.ranks)} of ${plural(all, "rank")}; first ${nameOf(first)}, from step ${found.first_step}${growth.ranks_not_judged ? `; ${count(growth.ranks_not_judged)} not judged` : ""}`,
    lines: [line(found.step_bytes === null ? `+${size(found.bytes)}` : `+${size(found.step_bytes)} a step`, found.place)],
    ranks: [{ key: keyOf(first), name: nameOf(first) }],
  };
}

function failureVerdict(report: RanksReport): Verdict {
  const { out_of_memory: found } = report;
  const first = rankOf(report, found.first_rank) ?? report.ranks.find((rank) => rank.first_failure);
  const failure = first?.first_failure;
  if (!first || !failure) return plain("Out of memory", found.ranks > 0 ? "requests failed, but none has a record of its own" : "no");
  const others = found.others_held;
  return {
    label: "Out of memory", bad: true,
    text: `${plural(found.ranks, "rank")}; first ${nameOf(first)}${failure.step === null ? "" : `, step ${failure.step}`}, asked for ${size(failure.requested_bytes)}, held ${size(failure.live_bytes)}`,
    lines: [
      placeText(failure.place),
      others ? `${plural(others.ranks, "other")} held ${size(others.min_bytes)} to ${size(others.max_bytes)} then, median ${size(others.median_bytes)}` : `what the others held then is not known: ${found.why_others_not_known}`,
    ],
    ranks: [{ key: keyOf(first), name: nameOf(first) }],
  };
}

function endsVerdict(report: RanksReport): Verdict {
  const names: Record<string, string> = { out_of_memory: "out of memory", unknown: "unknown end", running: "still running" };
  const killed = rankOf(report, report.first_killed_rank);
  const ends = Object.entries(report.ends).filter(([, ranks]) => ranks > 0).map(([end, ranks]) => `${count(ranks)} ${names[end] ?? end}`);
  return {
    label: "Ends", bad: (report.ends.clean ?? 0) !== report.ranks.length, lines: [],
    text: `${ends.join(", ")}${killed ? `; killed first: ${nameOf(killed)}` : ""}${report.incomplete_ranks ? `; ${count(report.incomplete_ranks)} incomplete` : ""}`,
    ranks: killed ? [{ key: keyOf(killed), name: nameOf(killed) }] : [],
  };
}

function useVerdict(report: RanksReport): Verdict | null {
  let fullest: Rank | null = null;
  const part = (rank: Rank): number => (rank.in_use_bytes ?? 0) / (rank.total_bytes || Infinity);
  for (const rank of report.ranks) if (rank.in_use_bytes !== null && (!fullest || part(rank) > part(fullest))) fullest = rank;
  if (!fullest || fullest.in_use_bytes === null || !fullest.total_bytes) return null;
  return plain("Device in use", `at most ${size(fullest.in_use_bytes)} of ${size(fullest.total_bytes)}, on ${nameOf(fullest)}${fullest.other_processes_bytes ? `; other processes ${size(fullest.other_processes_bytes)}` : ""}`);
}

function sumsVerdict(report: RanksReport): Verdict {
  const [most] = report.hosts;
  const least = report.hosts[report.hosts.length - 1];
  return plain("Sums of peaks", `job ${size(report.sum_peak_bytes)}${most && least && most !== least ? `; hosts ${size(least.sum_peak_bytes)} (${least.host}) to ${size(most.sum_peak_bytes)} (${most.host})` : ""}`);
}

export function verdictsOf({ report }: Job): Verdict[] {
  const [shared] = report.shared_devices;
  return [
    missingVerdict(report),
    report.peaks ? spread("Peaks", report.peaks) : plain("Peaks", "no rank held device memory"),
    report.reserved_peaks && report.reserved_peaks.max_bytes > 0 ? spread("Reserved", report.reserved_peaks) : null,
    ...outlierVerdicts(report),
    ...balanceVerdicts(report),
    growthVerdict(report),
    failureVerdict(report),
    endsVerdict(report),
    useVerdict(report),
    sumsVerdict(report),
    shared ? { ...plain("Shared GPUs", `${count(report.shared_devices.length)}: ${plural(shared.processes, "process", "processes")} on ${shared.uuid} of ${shared.host}`), bad: true } : null,
  ].filter((each) => each !== null);
}
