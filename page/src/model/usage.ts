// SPDX-License-Identifier: MIT
// How well the program uses the device: the share in use at the peak, the cache, the holes between blocks.
import { percent, plural, size } from "../ui/format";
import { deviceReport, type Context } from "../views/view";

/** Sentences for the summary. Each one has its evidence in the recording; without evidence there is none. */
export function usageSentences(context: Context): string[] {
  const { report } = context.recording;
  const device = context.device?.device ?? -2;
  const capacityBytes = deviceReport(context)?.total_bytes;
  const at = report.ledger.find((each) => each.device === device)?.at_peak;
  const used = at ? at.used_bytes : Math.max(0, ...(deviceReport(context)?.layers ?? []).filter((each) => each.layer === "cuda").map((each) => each.peak_bytes));
  const out: string[] = [];
  if (capacityBytes && used > 0) out.push(`${size(used)} of ${size(capacityBytes)} in use at the peak (${percent(used, capacityBytes)}), ${size(Math.max(0, capacityBytes - used))} free`);
  const row = report.segments.find((each) => each.device === device && each.moment === "peak");
  if (row && row.reserved_bytes > 0) {
    const unused = row.reserved_bytes - row.allocated_bytes;
    out.push(`${size(unused)} cached by PyTorch and unused then (${percent(unused, row.reserved_bytes) || "0 %"} of what it reserved)`);
    if (row.hole_bytes > 0) out.push(`${size(row.hole_bytes)} of it in holes next to blocks: fragmentation`);
    if (row.sparse_bytes * 20 > row.reserved_bytes) out.push(`${plural(row.sparse_segments, "segment")} with hardly a block`);
  }
  return out;
}
