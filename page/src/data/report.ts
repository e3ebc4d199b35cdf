// SPDX-License-Identifier: MIT
// The parts of `report --json` (schema gpumemtrace.report/2) that the page reads. docs/report-json.md describes them.

export interface Frame {
  kind: string;
  function: string;
  file: string | null;
  line: number | null;
  module: string | null;
}

export interface LayerReport {
  layer: string;
  live_bytes: number;
  live_blocks: number;
  left_bytes: number;
  peak_bytes: number;
  peak_blocks: number;
  peak_time_ns: number;
  alloc_count: number;
  free_count: number;
  refused_count: number;
  total_alloc_bytes: number;
  reported?: { reserved_bytes: number; reserved_peak_bytes: number; unseen_bytes: number };
}

export interface DeviceReport {
  device: number;
  name: string | null;
  uuid: string | null;
  total_bytes: number | null;
  layers: LayerReport[];
}

export interface Share {
  name: string | null;
  bytes: number;
  blocks: number;
}

export interface Peak {
  layer: string;
  device: number | null;
  peak_bytes: number;
  peak_blocks: number;
  time_ns: number;
  by_owner: Share[];
  by_category: Share[];
  by_part: Share[];
  by_phase: Share[];
  by_step: { series: string | null; step: number | null; bytes: number; blocks: number }[];
}

export interface LedgerState {
  time_ns: number;
  asked_at_ns: number | null;
  total_bytes: number;
  used_bytes: number;
  lines: { name: string; bytes: number; known: boolean }[];
}

export interface Oom {
  time_ns: number;
  device: number;
  layer: string;
  requested_bytes: number;
  free_bytes: number | null;
  total_bytes: number | null;
  live_bytes: number;
  cuda_live_bytes: number;
  cached_bytes: number;
  reserved_bytes: number | null;
  usable_cached_bytes: number | null;
  graph_cached_bytes: number | null;
  largest_hole_bytes: number | null;
  would_fit: boolean | null;
  recovered: boolean;
  driver_refusals: number;
  step: number | null;
  ledger: LedgerState | null;
  holders_layer: string;
  held_bytes: number;
  holders?: (number | null)[];
  holder_bytes?: number[];
  owner: string;
  own_frame: number | null;
  stack: Frame[];
}

export interface Leak {
  definition: string;
  layer: string;
  space: string;
  device: number | null;
  bytes: number;
  blocks: number | null;
  bytes_per_step: number | null;
  ground: string | null;
  confidence: number | null;
  source: string | null;
  steps: number | null;
  first_step: number | null;
  steps_to_oom: number | null;
  attribution: { first_step: number; last_step: number; bytes: number; blocks: number }[];
  phase: string | null;
  heap: string | null;
  category: string | null;
  owner: string | null;
  own_frame: number | null;
  stack: Frame[];
  hint: string | null;
}

export interface Segments {
  device: number;
  moment: string;
  time_ns: number;
  segments: number;
  reserved_bytes: number;
  allocated_bytes: number;
  blocks: number;
  empty_segments: number;
  empty_bytes: number;
  hole_bytes: number;
  holes: { below_bytes: number | null; holes: number; bytes: number }[];
  largest_hole_bytes: number;
  graph_segments: number;
  graph_bytes: number;
  sparse_segments: number;
  sparse_bytes: number;
}

export interface AllocatorStat {
  current: number;
  peak: number;
}

/** Statistics of PyTorch's allocator: `stats.reserved_bytes.large_pool.peak` and others. */
export interface Allocator {
  device: number;
  knows_segments: boolean;
  stats: Record<string, Record<string, AllocatorStat>>;
}

export interface GrownLine {
  layer: string;
  device: number | null;
  function: string;
  file: string | null;
  line: number | null;
  bytes: number;
}

export interface Report {
  schema: string;
  file: string;
  complete: boolean;
  in_progress?: number;
  events: { recorded: number; dropped: number; replayed: number };
  folded?: { until_ns: number; events: number; survivors: number; why: string };
  remarks: string[];
  notes: string[];
  symbols: { addresses: number; named: number; with_line: number; missing: { module: string; why: string }[] };
  anomalies: Record<string, number>;
  process: {
    pid: number;
    host: string;
    rank: number | null;
    command: string[];
    executable: string;
    directory: string;
    machine: string;
    recorder_version: string;
    imported_from?: string;
    start_time_ns: number;
    duration_ns: number;
  };
  devices: DeviceReport[];
  host: LayerReport;
  ledger: (LedgerState & { device: number; at_peak: LedgerState | null })[];
  ooms: Oom[];
  oom_counts: { failed: number; recovered: number; left_out: number };
  peaks: Peak[];
  segments: Segments[];
  allocator?: Allocator[];
  steps: {
    index: number;
    source: string;
    begin_ns: number;
    end_ns: number;
    devices: { device: number | null; layer: string; peak_bytes: number; end_live_bytes: number }[];
  }[];
  no_steps: string | null;
  step_parts: {
    device: number | null;
    layer: string;
    part: string;
    times: number;
    made_bytes: number;
    carried_bytes: number;
    kept_bytes: number | null;
    peak_bytes: number;
  }[];
  leaks: Leak[];
  cached: { device: number; bytes: number }[];
  given_back: GrownLine[];
  levels_off: GrownLine[];
  growth_not_judged: string | null;
  phases_not_judged: string | null;
  end_not_judged: string | null;
}
