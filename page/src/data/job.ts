// SPDX-License-Identifier: MIT
// The job of the page: the object of `ranks --json`, and the curves of its ranks. Only pages of `ranks --html` have it.
import { elementText } from "./index";
import { decodePacket } from "./packet";

export interface Spread {
  ranks: number;
  min_bytes: number;
  median_bytes: number;
  max_bytes: number;
  spread_bytes: number;
  mad_bytes: number;
}

export interface CodePlace {
  file: string | null;
  line: number | null;
  function: string | null;
}

export interface Difference {
  index: number;
  rank: number | null;
  compared_with_rank: number | null;
  difference_bytes: number;
  lines: { difference_bytes: number; bytes: number; place: CodePlace }[];
}

export interface Group {
  role: string | null;
  peaks: Spread | null;
  ranks: number[];
  difference: Difference | null;
}

export interface Rank {
  rank: number | null;
  local_rank: number | null;
  node: number | null;
  role: string | null;
  attempt: number;
  host: string | null;
  pid: number;
  program: string | null;
  file: string;
  start_time_ns: number;
  duration_ns: number;
  steps: number;
  end: string;
  complete: boolean;
  device: number | null;
  peak_bytes: number | null;
  total_bytes: number | null;
  peak_step: number | null;
  end_bytes: number | null;
  reserved_peak_bytes: number | null;
  in_use_bytes: number | null;
  other_processes_bytes: number | null;
  group: number | null;
  is_outlier: boolean;
  failures: number;
  first_failure: { time_ns: number; step: number | null; requested_bytes: number; free_bytes: number | null; live_bytes: number; place: CodePlace } | null;
  growth: { step_bytes: number | null; bytes: number; first_step: number; place: CodePlace; hint: string | null } | null;
  growth_not_judged: string | null;
  earlier_attempts: number;
}

/** `ranks --json` (docs/ranks-json.md). */
export interface RanksReport {
  schema: string;
  job: string | null;
  layer: string;
  world_size: number | null;
  missing_ranks: number[];
  incomplete_ranks: number;
  least_steps: number;
  most_steps: number;
  clocks_differ: boolean;
  peaks: Spread | null;
  reserved_peaks: Spread | null;
  balance_not_judged: string | null;
  outliers_not_judged: string | null;
  groups: Group[];
  outliers: Difference[];
  growth: { ranks: number; ranks_not_judged: number; why_not_judged: string | null; first_rank: number | null };
  out_of_memory: { ranks: number; first_rank: number | null; compared_by: string | null; others_held: Spread | null; why_others_not_known: string | null };
  ends: Record<string, number>;
  first_killed_rank: number | null;
  sum_peak_bytes: number;
  hosts: { host: string | null; ranks: number; sum_peak_bytes: number }[];
  shared_devices: { host: string | null; uuid: string | null; processes: number; sum_peak_bytes: number }[];
  remarks: string[];
  ranks: Rank[];
}

/** The curves of all ranks, one after the other: rank i has the rows from `begin[i]` to `begin[i + 1]`. */
export interface Curves {
  begin: readonly number[];
  /** First step of the row, or the end of its time since the start of the process. */
  readonly at: Float64Array;
  readonly peak: Float64Array;
  readonly end: Float64Array;
}

export interface Job {
  report: RanksReport;
  /** By rank: the number of its recording in this page; -1: not in this page, -2: only its summary was read. */
  recording: Float64Array;
  /** By rank: the path of its recording. */
  files: string[];
  steps: Curves;
  times: Curves;
}

export const hasJob = (): boolean => document.getElementById("job") !== null;

/** The columns are decoded when they are first used: the curves by time are half of the data, and rarely shown. */
function curves(counts: Float64Array, at: () => Float64Array, peak: () => Float64Array, end: () => Float64Array): Curves {
  const begin = [0];
  for (let i = 0; i < counts.length; i++) begin.push(begin[i]! + counts[i]!);
  return {
    begin,
    get at() {
      return at();
    },
    get peak() {
      return peak();
    },
    get end() {
      return end();
    },
  };
}

async function decode(): Promise<Job> {
  const text = elementText("job");
  if (text === null) throw new Error("the page has no job");
  const { header, column } = await decodePacket<{ ranks: RanksReport; recording_files: string[] }>(text);
  if (header.ranks.schema !== "gpumemtrace.ranks/1") throw new Error(`the page's job has the unknown schema ${header.ranks.schema}`);
  return {
    report: header.ranks,
    recording: column("rank.recording"),
    files: header.recording_files,
    steps: curves(column("rank.steps"), () => column("step.first"), () => column("step.peak_bytes"), () => column("step.end_bytes")),
    times: curves(column("rank.times"), () => column("time.end_ns"), () => column("time.peak_bytes"), () => column("time.end_bytes")),
  };
}

let loaded: Promise<Job> | null = null;

/** Decodes the job at the first call. Later calls return the same object. */
export const loadJob = (): Promise<Job> => (loaded ??= decode());
