// SPDX-License-Identifier: MIT
// Out of memory: each refused request, who held the memory, and what would have fitted.
import type { Oom } from "../data/report";
import { bucketAt, liveAtMaximum } from "../model/buckets";
import { linesOf, sumOver } from "../model/lines";
import { frameLine } from "../model/names";
import { change } from "../state/state";
import { add, button, cutPath, h, note } from "../ui/dom";
import { fact } from "../ui/fact";
import { duration, percent, plural, size } from "../ui/format";
import { frameStack } from "../ui/stack_view";
import { layerName, type Context, type View } from "./view";

function sentences(oom: Oom): string[] {
  const out = [];
  const request = oom.requested_bytes;
  if (oom.recovered) out.push("PyTorch emptied its cache and then got the memory: the program saw no error.");
  if (oom.largest_hole_bytes !== null) out.push(oom.largest_hole_bytes >= request ? "A hole between blocks was large enough." : `The largest hole between blocks, ${size(oom.largest_hole_bytes)}, is too small for it.`);
  if (oom.would_fit !== null && oom.free_bytes !== null) {
    const together = oom.free_bytes + (oom.usable_cached_bytes ?? 0);
    out.push(oom.would_fit ? `Free and usable cached memory together, ${size(together)}, are enough: the memory is fragmented.` : `Free and usable cached memory together, ${size(together)}, are not enough: something must hold less.`);
  }
  if (oom.cached_bytes > 0 && oom.usable_cached_bytes !== null && oom.usable_cached_bytes < oom.cached_bytes) out.push(`Of ${size(oom.cached_bytes)} in PyTorch's cache, this request could use ${size(oom.usable_cached_bytes)}.`);
  return out;
}

/** The lines that held most when the request was refused, from the bucket of that moment. */
function holders(context: Context, oom: Oom): HTMLElement | null {
  const { recording, device } = context;
  const layer = device?.layers.find((each) => each.name === oom.holders_layer);
  if (!device || !layer || device.device !== oom.device || layer.buckets === 0) return null;
  const weights = liveAtMaximum(layer, bucketAt(layer, oom.time_ns), recording.sites.length);
  const rows = linesOf(recording, layer, device.device).map((line) => ({ line, bytes: sumOver(line, weights) })).filter((row) => row.bytes > 0).sort((a, b) => b.bytes - a.bytes);
  const whole = rows.reduce((sum, row) => sum + row.bytes, 0);
  return h("div", {},
    h("h3", { class: "small muted" }, `Lines that held most, at the largest moment next to the refusal (${size(whole)} of ${layerName(layer.name)})`),
    h("table", { class: "plain" }, h("tbody", {}, ...rows.slice(0, 10).map((row) =>
      h("tr", {}, h("th", { scope: "row" }, cutPath(row.line.name, "code")), h("td", { class: "number" }, size(row.bytes)), h("td", { class: "number share" }, percent(row.bytes, whole)))))));
}

function panel(context: Context, oom: Oom): HTMLElement {
  const { directory } = context.recording.report.process;
  const frame = oom.stack[oom.own_frame ?? 0];
  return h("section", { class: "panel" },
    h("h2", {}, `${size(oom.requested_bytes)} ${oom.recovered ? "was refused first" : "was refused"} at ${duration(oom.time_ns)}${oom.step === null ? "" : `, step ${oom.step}`}`),
    h("p", {}, cutPath(frameLine(frame, directory), "code"), frame?.file ? h("span", { class: "muted" }, ` in ${frame.function}`) : null),
    h("dl", { class: "facts" },
      fact("Requested", size(oom.requested_bytes)),
      fact("Free on the device", oom.free_bytes === null ? "not known" : size(oom.free_bytes)),
      fact("In PyTorch's blocks", size(oom.live_bytes)),
      fact("Cached by PyTorch", size(oom.cached_bytes)),
      fact("Largest hole", oom.largest_hole_bytes === null ? "not known" : size(oom.largest_hole_bytes)),
      fact("Device", oom.total_bytes === null ? "not known" : size(oom.total_bytes))),
    ...sentences(oom).map((text) => h("p", {}, text)),
    h("div", { class: "two spaced" }, holders(context, oom), h("div", {}, h("h3", { class: "small muted" }, "The request"), frameStack(oom.stack, oom.own_frame, directory))),
    h("div", { class: "legend-actions" },
      button("Flame graph of this moment", () => change({ view: "flame", metric: "cursor", cursor: oom.time_ns, root: "" })),
      button("Segments at this moment", () => change({ view: "segments", cursor: oom.time_ns }))));
}

function mount(box: HTMLElement, context: Context): void {
  const { ooms, oom_counts: counts } = context.recording.report;
  if (ooms.length === 0) {
    add(box, h("section", { class: "panel" }, h("p", { class: "lead" }, "No request was refused for lack of memory"),
      note("If CUDA refuses a request, this view shows what was free, what would have fitted, and which lines held the memory. The recorder notes refused requests by itself.")));
    return;
  }
  add(box, h("p", { class: "muted spaced-below" }, `${plural(counts.failed, "request")} failed, ${plural(counts.recovered, "request")} succeeded after PyTorch emptied its cache.`));
  add(box, ...[...ooms].sort((a, b) => Number(a.recovered) - Number(b.recovered) || a.time_ns - b.time_ns).map((oom) => panel(context, oom)));
  if (counts.left_out > 0) add(box, note(`${plural(counts.left_out, "request")} more are not in the recording's list.`));
}

export const oom: View = {
  id: "oom", name: "Out of memory", key: "8", strip: true, mount,
  isEmpty: (context) => context.recording.report.ooms.length === 0,
  badge: (context) => {
    const { failed } = context.recording.report.oom_counts;
    return failed > 0 ? { text: String(failed), alarm: true } : null;
  },
};
