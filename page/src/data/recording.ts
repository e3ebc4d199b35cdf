// SPDX-License-Identifier: MIT
// One recording, decoded: its report, its sites with their stacks, its steps and phases.
import { decodePacket } from "./packet";
import { elementText } from "./index";
import type { Report } from "./report";

/** How the recording was made. The page of an older program lacks it. */
export interface Recorder {
  file_bytes: number;
  options: Record<string, string>;
  overhead_estimate: { timed_calls: number; call_ns: number; calls_ns: number; long_calls: number; writer_ns: number } | null;
}

interface Header {
  report: Report;
  recorder?: Recorder;
  strings: string[];
  categories: (string | number)[];
  owners: (string | number)[];
  modules: (string | number)[];
  operators: (string | number)[];
  parts: (string | number)[];
  layers: (string | number)[];
  spaces: (string | number)[];
  phases: { name: string | number; begin_ns: number; end_ns: number; thread: number; depth: number; open: boolean }[];
  phases_left_out: number;
  series: { source: string | number; name: string | number | null }[];
}

export interface Place {
  python: boolean;
  function: string;
  file: string;
  line: number;
  module: string;
  own: boolean;
}

export interface Site {
  id: number;
  /** The leaf node of the stack, in `nodeParent` and `nodePlace`. */
  node: number;
  /** The place of the user's own line, or null if the stack has none. */
  own: number;
  layer: string;
  device: number;
  space: string;
  category: string;
  owner: string;
  module: string;
  operator: string;
  part: string;
  peakBytes: number;
  peakBlocks: number;
  liveBytes: number;
  liveBlocks: number;
  leftBytes: number;
  maxLiveBytes: number;
  totalBytes: number;
  allocs: number;
  frees: number;
}

export interface Step {
  series: string;
  index: number;
  beginNs: number;
  endNs: number;
}

export interface Phase {
  name: string;
  beginNs: number;
  endNs: number;
  depth: number;
  thread: number;
  open: boolean;
}

export interface Recording {
  number: number;
  report: Report;
  recorder: Recorder | null;
  durationNs: number;
  places: Place[];
  nodeParent: Float64Array;
  nodePlace: Float64Array;
  sites: Site[];
  /** Steps of the first series, in order of time. */
  steps: Step[];
  phases: Phase[];
  phasesLeftOut: number;
}

const loaded = new Map<number, Promise<Recording>>();

/** Decodes recording `number` at the first call. Later calls return the same object. */
export function loadRecording(number: number): Promise<Recording> {
  let promise = loaded.get(number);
  if (!promise) {
    promise = decode(number);
    loaded.set(number, promise);
  }
  return promise;
}

async function decode(number: number): Promise<Recording> {
  const text = elementText(`recording-${number}`);
  if (text === null) throw new Error(`the page has no data of recording ${number}`);
  const { header, column } = await decodePacket<Header>(text);
  const strings = header.strings ?? [""];
  const word = (value: string | number | null | undefined): string =>
    typeof value === "number" ? (strings[value] ?? "") : (value ?? "");
  const list = (values: (string | number)[] | undefined, at: number): string => word(values?.[at]);

  const kind = column("place.kind");
  const fn = column("place.function");
  const file = column("place.file");
  const line = column("place.line");
  const object = column("place.module");
  const placeOwn = column("place.own");
  const places: Place[] = [];
  for (let i = 0; i < kind.length; i++) {
    places.push({
      python: kind[i] === 1,
      function: word(fn[i]),
      file: word(file[i]),
      line: line[i]!,
      module: word(object[i]),
      own: placeOwn[i] === 1,
    });
  }
  const nodePlace = column("node.place");
  const get = (name: string): Float64Array => column(`site.${name}`);
  const node = get("node");
  const own = get("own");
  const layer = get("layer");
  const device = get("device");
  const space = get("space");
  const category = get("category");
  const owner = get("owner");
  const module = get("module");
  const operator = get("operator");
  const part = get("part");
  const peakBytes = get("peak_bytes");
  const peakBlocks = get("peak_blocks");
  const liveBytes = get("live_bytes");
  const liveBlocks = get("live_blocks");
  const leftBytes = get("left_bytes");
  const maxLive = get("max_live_bytes");
  const total = get("total_bytes");
  const allocs = get("alloc_count");
  const frees = get("free_count");
  const sites: Site[] = [];
  for (let i = 0; i < node.length; i++) {
    const ownNode = own[i] ?? 0;
    sites.push({
      id: i,
      node: node[i]!,
      own: ownNode > 0 ? (nodePlace[ownNode] ?? -1) : -1,
      layer: list(header.layers, layer[i]!),
      device: device[i]!,
      space: list(header.spaces, space[i]!),
      category: list(header.categories, category[i]!),
      owner: list(header.owners, owner[i]!),
      module: list(header.modules, module[i]!),
      operator: list(header.operators, operator[i]!),
      part: list(header.parts, part[i]!),
      peakBytes: peakBytes[i]!,
      peakBlocks: peakBlocks[i]!,
      liveBytes: liveBytes[i]!,
      liveBlocks: liveBlocks[i]!,
      leftBytes: leftBytes[i]!,
      maxLiveBytes: maxLive[i]!,
      totalBytes: total[i]!,
      allocs: allocs[i]!,
      frees: frees[i]!,
    });
  }
  const series = (header.series ?? []).map((each) => word(each.name) || word(each.source));
  const stepSeries = column("step.series");
  const stepIndex = column("step.index");
  const stepBegin = column("step.begin_ns");
  const stepEnd = column("step.end_ns");
  const steps: Step[] = [];
  for (let i = 0; i < stepIndex.length; i++) {
    if (stepSeries[i] !== stepSeries[0]) continue;
    steps.push({ series: series[stepSeries[i]!] ?? "", index: stepIndex[i]!, beginNs: stepBegin[i]!, endNs: stepEnd[i]! });
  }
  return {
    number,
    report: header.report,
    recorder: header.recorder ?? null,
    durationNs: Math.max(1, header.report.process?.duration_ns ?? 1),
    places,
    nodeParent: column("node.parent"),
    nodePlace,
    sites,
    steps,
    phases: (header.phases ?? []).map((each) => ({
      name: word(each.name),
      beginNs: each.begin_ns,
      endNs: each.end_ns,
      depth: each.depth,
      thread: each.thread,
      open: each.open,
    })),
    phasesLeftOut: header.phases_left_out ?? 0,
  };
}
