// SPDX-License-Identifier: MIT
// The findings about each line, so that all views show a leak with the same number.
import type { Leak } from "../data/report";
import { frameKey } from "./names";

export interface LineLeak {
  bytes: number;
  blocks: number | null;
  /** Null unless all findings of the line are of growth. */
  perStep: number | null;
}

/** Adds the findings up by the key of their line (`lineKey`). */
export function leaksByLine(leaks: Leak[]): Map<string, LineLeak> {
  const out = new Map<string, LineLeak>();
  for (const leak of leaks) {
    if (leak.definition === "unexplained" || leak.stack.length === 0) continue;
    const key = frameKey(leak.stack[leak.own_frame ?? 0]);
    const known = out.get(key);
    const sum = (a: number | null, b: number | null): number | null => (a === null || b === null ? null : a + b);
    if (!known) out.set(key, { bytes: leak.bytes, blocks: leak.blocks, perStep: leak.bytes_per_step });
    else out.set(key, { bytes: known.bytes + leak.bytes, blocks: sum(known.blocks, leak.blocks), perStep: sum(known.perStep, leak.bytes_per_step) });
  }
  return out;
}
