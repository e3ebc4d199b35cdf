// SPDX-License-Identifier: MIT
// The horizontal axis: by time, by step or by event. All views keep moments in nanoseconds; an axis maps them.
import type { Layer } from "../data/device";
import type { Recording } from "../data/recording";
import { count, duration } from "../ui/format";
import { lastAtMost } from "./buckets";

export interface Axis {
  kind: string;
  /** The position of a moment on the axis. */
  at(ns: number): number;
  /** The moment of a position. */
  ns(position: number): number;
  ticks(from: number, to: number, most: number): { at: number; label: string }[];
}

/** A nice step for ticks: 1, 2 or 5 times a power of ten. */
function niceStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(rough));
  const scaled = rough / power;
  return (scaled <= 1 ? 1 : scaled <= 2 ? 2 : scaled <= 5 ? 5 : 10) * power;
}

function every(from: number, to: number, step: number): number[] {
  const out = [];
  for (let i = Math.ceil(from / step); i * step <= to && out.length < 1000; i++) out.push(i * step);
  return out;
}

function timeLabel(ns: number, step: number): string {
  if (ns === 0) return "0";
  const [unit, name] = step >= 1e9 ? [1e9, "s"] : step >= 1e6 ? (ns >= 1e9 ? [1e9, "s"] : [1e6, "ms"]) : step >= 1e3 ? [1e6, "ms"] : [1e3, "us"];
  if (step >= 60e9) return duration(ns);
  const digits = Math.max(0, Math.ceil(-Math.log10(step / unit)));
  return `${(ns / unit).toFixed(Math.min(9, digits))} ${name}`;
}

/** Steps of ticks for long times: whole seconds, minutes and hours. */
function timeStep(rough: number): number {
  if (rough <= 20e9) return niceStep(rough);
  const steps = [30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 28800, 86400];
  return (steps.find((each) => each * 1e9 >= rough) ?? 86400 * Math.ceil(rough / 86400e9)) * 1e9;
}

const timeAxis: Axis = {
  kind: "time",
  at: (ns) => ns,
  ns: (position) => position,
  ticks(from, to, most) {
    const step = timeStep(Math.max(1, (to - from) / most));
    return every(from, to, step).map((at) => ({ at, label: timeLabel(at, step) }));
  },
};

/** An axis whose positions are given at some moments, and in proportion between them. */
function piecewise(kind: string, moments: number[], positions: number[], lastTick: number): Axis {
  const map = (value: number, from: number[], to: number[]): number => {
    const at = Math.min(lastAtMost(from, value), from.length - 2);
    const width = from[at + 1]! - from[at]!;
    const share = width > 0 ? Math.min(1, Math.max(0, (value - from[at]!) / width)) : 0;
    return to[at]! + share * (to[at + 1]! - to[at]!);
  };
  return {
    kind,
    at: (ns) => map(ns, moments, positions),
    ns: (position) => map(position, positions, moments),
    ticks(from, to, most) {
      // Between two whole numbers only time has ticks.
      if (to - from < 2) {
        const [left, right] = [map(from, positions, moments), map(to, positions, moments)];
        return timeAxis.ticks(left, right, most).map((tick) => ({ at: map(tick.at, moments, positions), label: tick.label }));
      }
      const step = Math.max(1, niceStep(Math.max(1e-9, (to - from) / most)));
      const word = `${kind} `;
      return every(from, to, step)
        .filter((at) => at >= 0 && at <= lastTick)
        .map((at) => ({ at, label: word + count(at) }));
    },
  };
}

/**
 * The axis on which most is seen: by step if there are some. Else by time, unless most of the time nothing happens:
 * then by event.
 */
export function resolveAxis(kind: string, recording: Recording, layer: Layer | undefined): string {
  if (kind !== "auto") return kind;
  if (recording.steps.length >= 4) return "step";
  if (!layer || layer.buckets < 20) return "time";
  const lengths = Array.from(layer.beginNs, (begin, at) => (layer.beginNs[at + 1] ?? recording.durationNs) - begin).sort((a, b) => b - a);
  const longest = lengths.slice(0, Math.ceil(lengths.length / 20)).reduce((sum, length) => sum + length, 0);
  return longest > recording.durationNs / 2 ? "event" : "time";
}

/** Returns the axis of a kind. Without steps, the axis by step is that by time. */
export function makeAxis(given: string, recording: Recording, layer: Layer | undefined): Axis {
  const kind = resolveAxis(given, recording, layer);
  const end = recording.durationNs;
  if (kind === "step" && recording.steps.length > 0) {
    const first = recording.steps[0]!;
    const moments = [0];
    const positions = [first.index - 1];
    for (const step of recording.steps) {
      if (step.beginNs <= moments[moments.length - 1]! && moments.length > 1) continue;
      if (step.beginNs === 0) moments.length = positions.length = 0;
      moments.push(step.beginNs);
      positions.push(step.index);
    }
    const last = recording.steps[recording.steps.length - 1]!;
    if (last.endNs > moments[moments.length - 1]!) {
      moments.push(last.endNs);
      positions.push(last.index + 1);
    }
    if (end > moments[moments.length - 1]!) {
      moments.push(end);
      positions.push(positions[positions.length - 1]! + 1);
    }
    if (moments.length >= 2) return piecewise("step", moments, positions, last.index);
  }
  if (kind === "event" && layer && layer.buckets > 0) {
    const moments: number[] = [];
    const positions: number[] = [];
    for (let i = 0; i < layer.buckets; i++) {
      if (i > 0 && layer.beginEvent[i]! <= positions[positions.length - 1]!) continue;
      moments.push(layer.beginNs[i]!);
      positions.push(layer.beginEvent[i]!);
    }
    const events = recording.report.events?.replayed ?? 0;
    moments.push(Math.max(end, moments[moments.length - 1]! + 1));
    positions.push(Math.max(events, positions[positions.length - 1]! + 1));
    return piecewise("event", moments, positions, Infinity);
  }
  return timeAxis;
}

/** The step that contains the moment, or null. */
export function stepAt(recording: Recording, ns: number): number | null {
  const steps = recording.steps;
  if (steps.length === 0) return null;
  // Events of a step are later than its beginning, up to and including its end.
  let at = lastAtMost(steps.map((step) => step.beginNs), ns);
  if (steps[at]!.beginNs === ns && ns > 0) at--;
  const step = steps[at];
  return step && ns >= step.beginNs && ns <= step.endNs ? step.index : null;
}
