// SPDX-License-Identifier: MIT
// The sentences of the summary: the peak, leaks, refused requests, memory outside of PyTorch, completeness.
import type { Context } from "../views/view";
import { deviceNumber, deviceReport, layerName, layerReport, peakReport } from "../views/view";
import { duration, percent, plural, size } from "../ui/format";
import { stepAt } from "./axis";
import { frameLine } from "./names";
import type { Leak, LedgerState } from "../data/report";

export interface Verdict {
  headline: string;
  detail: string;
}

export function peakVerdict(context: Context): Verdict {
  const layer = layerReport(context);
  if (!layer || layer.peak_bytes === 0) return { headline: "No memory was allocated", detail: "The recording has no allocation on this device." };
  const total = deviceReport(context)?.total_bytes;
  const step = stepAt(context.recording, layer.peak_time_ns);
  const part = peakReport(context)?.by_part[0]?.name;
  const where = step === null ? `at ${duration(layer.peak_time_ns)}` : `at step ${step}`;
  return {
    headline: `Peak ${size(layer.peak_bytes)}${total ? ` of ${size(total)}` : ""} ${where}`,
    detail: `${plural(layer.peak_blocks, "block")} of ${layerName(layer.layer)}${step === null ? "" : ` at ${duration(layer.peak_time_ns)}`}${part && part !== "other" ? `, most of it made in ${part}` : ""}.`,
  };
}

export const leaksHere = (context: Context): Leak[] => context.recording.report.leaks.filter((leak) => leak.device === deviceNumber(context));

export const leakLine = (context: Context, leak: Leak): string =>
  leak.definition === "unexplained"
    ? `all lines of ${layerName(leak.layer)}`
    : frameLine(leak.stack[leak.own_frame ?? 0], context.recording.report.process.directory);

export function leakSentence(leak: Leak): string {
  const of = leak.blocks === null ? "" : ` in ${plural(leak.blocks, "block")}`;
  switch (leak.definition) {
    case "growth":
      return `grows by ${size(leak.bytes_per_step ?? 0)} a step: ${size(leak.bytes)}${of}`;
    case "unexplained":
      return `grow by ${size(leak.bytes_per_step ?? 0)} a step, by no single line`;
    case "phase":
      return `keeps ${size(leak.bytes)}${of} after phase ${leak.phase ?? ""}`;
    case "age":
      return `keeps ${size(leak.bytes)}${of} that are old and were never freed`;
    default:
      return `keeps ${size(leak.bytes)}${of} at the end`;
  }
}

export const LEDGER_TEXT: Record<string, string> = {
  torch_live: "PyTorch's blocks",
  torch_cached: "cached by PyTorch",
  torch_rounding: "rounding in PyTorch's blocks",
  arenas: "arenas of libraries",
  device: "linear device memory",
  array: "arrays",
  vmm: "physical memory of cuMemCreate",
  pool_used: "blocks of memory pools",
  pool_cached: "cached by memory pools",
  graph_used: "blocks of graphs",
  graph_cached: "kept for graphs",
  contexts: "contexts, as measured",
  modules: "loaded code, as measured",
  limits: "raised limits, as measured",
  runtime: "the rest of this process, by NVML",
  other_processes: "other processes, by NVML",
  unexplained: "unexplained",
};

/** Memory of the ledger that is not PyTorch's. */
export function outside(ledger: LedgerState | null | undefined): { name: string; bytes: number }[] {
  return (ledger?.lines ?? [])
    .filter((line) => !line.name.startsWith("torch_") && line.bytes !== 0)
    .map((line) => ({ name: LEDGER_TEXT[line.name] ?? line.name, bytes: line.bytes }))
    .sort((a, b) => b.bytes - a.bytes);
}

/** The summary as Markdown, to paste into an issue. */
export function asMarkdown(context: Context, lines: { name: string; function: string; bytes: number; blocks: number }[]): string {
  const { report } = context.recording;
  const peak = peakVerdict(context);
  const out = [`## ${peak.headline}`, "", peak.detail, ""];
  const categories = peakReport(context);
  if (categories && categories.peak_bytes > 0) {
    out.push(`Made of: ${categories.by_category.map((each) => `${each.name} ${percent(each.bytes, categories.peak_bytes)}`).join(", ")}`, "");
    out.push("| line | at the peak | share | blocks |", "|---|---:|---:|---:|");
    for (const line of lines) {
      const name = `${line.name}${line.function ? ` in ${line.function}` : ""}`.replace(/[|`\n\r]/g, " ");
      out.push(`| \`${name}\` | ${size(line.bytes)} | ${percent(line.bytes, categories.peak_bytes)} | ${line.blocks} |`);
    }
    out.push("");
  }
  const leaks = leaksHere(context);
  out.push(leaks.length === 0 ? `Leaks: none found${report.growth_not_judged ? ` (growth was not judged: ${report.growth_not_judged})` : ""}` : `Leaks: ${leaks.length}`);
  for (const leak of leaks) out.push(`- \`${leakLine(context, leak).replace(/`/g, " ")}\` ${leakSentence(leak)}${leak.hint ? `. ${leak.hint}` : ""}`);
  out.push("", `Out of memory: ${report.oom_counts.failed === 0 ? "never" : plural(report.oom_counts.failed, "request")}`);
  out.push(`Complete: ${report.complete ? "yes" : "no"}`);
  for (const remark of report.remarks) out.push(`- ${remark}`);
  out.push("", `\`${report.file}\`, ${context.index.made_by}`);
  return out.join("\n");
}
