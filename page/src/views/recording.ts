// SPDX-License-Identifier: MIT
// The recording itself: the process, the devices, and how complete the data are.
import { add, h, note, type Child } from "../ui/dom";
import { count, duration, percent, plural, size } from "../ui/format";
import { deviceName, layerName, type Context, type View } from "./view";

const row = (name: string, value: Child): HTMLElement => h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, value));

function panel(title: string, ...rows: (HTMLElement | null)[]): HTMLElement {
  return h("section", { class: "panel" }, h("h2", {}, title), h("table", { class: "facts-table" }, h("tbody", {}, ...rows)));
}

/** What the recorder was asked to do, and what it cost the program. */
function recorderPanel(context: Context): HTMLElement | null {
  const { recorder, report } = context.recording;
  if (!recorder) return null;
  const cost = recorder.overhead_estimate;
  const { events } = report;
  const span = Math.max(1, report.process.duration_ns);
  return panel("Recorder",
    row("Cost in the program's threads", cost ? `${duration(cost.calls_ns)}, ${percent(cost.calls_ns, span)} of the run: ${duration(cost.call_ns)} for each call` : "not measured"),
    cost ? row("In its own thread", duration(cost.writer_ns)) : null,
    row("File", `${size(recorder.file_bytes)}, ${events.recorded > 0 ? (recorder.file_bytes / events.recorded).toFixed(1) : "0"} bytes for each event`),
    row("Options", h("code", { class: "wrap" }, Object.entries(recorder.options).map(([name, value]) => `${name}=${value}`).join("  "))));
}

function mount(box: HTMLElement, context: Context): void {
  const { report } = context.recording;
  const { process } = report;
  const started = new Date(process.start_time_ns / 1e6);
  const wrong = Object.entries(report.anomalies ?? {}).filter(([, value]) => value > 0);
  add(box,
    h("section", { class: "panel" },
      h("p", { class: "lead" }, report.complete ? "The recording is complete" : "The recording is incomplete"),
      report.in_progress !== undefined ? note(`Process ${report.in_progress} was still recording.`) : null,
      ...report.remarks.map((remark) => h("p", {}, remark)),
      ...report.notes.map((text) => h("p", { class: "muted" }, text)),
      report.folded ? h("p", {}, `Events before ${duration(report.folded.until_ns)} are compacted: ${plural(report.folded.events, "event")}.`) : null),
    h("div", { class: "two" },
      panel("Process",
        row("Command", h("code", { class: "wrap" }, process.command.join(" "))),
        row("Folder", h("code", { class: "wrap" }, process.directory)),
        row("Executable", h("code", { class: "wrap" }, process.executable)),
        process.imported_from ? row("Imported from", process.imported_from) : row("Process, host", `${process.pid} on ${process.host}`),
        process.rank === null ? null : row("Rank", String(process.rank)),
        row("Started", Number.isFinite(started.getTime()) ? `${started.toISOString().slice(0, 19).replace("T", " ")} UTC` : "not known"),
        row("Lasts", duration(process.duration_ns)),
        row("Machine", process.machine)),
      panel("Data",
        row("File", h("code", { class: "wrap" }, report.file)),
        row("Events", `${count(report.events.recorded)} recorded, ${count(report.events.dropped)} lost`),
        row("Recorder", process.recorder_version),
        row("Page made by", context.index.made_by),
        row("Native addresses", `${count(report.symbols.addresses)}, ${percent(report.symbols.named, report.symbols.addresses) || "0 %"} with a name`),
        ...report.symbols.missing.slice(0, 5).map((each) => row("Without symbols", `${each.module}: ${each.why}`)),
        row("Inconsistent events", wrong.length === 0 ? "none" : wrong.map(([name, value]) => `${name.replace(/_/g, " ")}: ${count(value)}`).join(", ")),
        context.device ? row("Single blocks in the page", `${count(context.device.blocks.kept)} of ${count(context.device.blocks.total)}`) : null,
        context.recording.phasesLeftOut > 0 ? row("Phases left out", count(context.recording.phasesLeftOut)) : null),
      recorderPanel(context),
      ...report.devices.map((device) =>
        panel(`${deviceName(device.device)}: ${device.name ?? "not recorded"}`,
          device.total_bytes === null ? null : row("Memory", size(device.total_bytes)),
          device.uuid ? row("Identifier", h("code", { class: "wrap" }, device.uuid)) : null,
          ...device.layers.filter((layer) => layer.alloc_count > 0).map((layer) =>
            row(layerName(layer.layer), `peak ${size(layer.peak_bytes)}, ${plural(layer.alloc_count, "allocation")}, ${size(layer.total_alloc_bytes)} in total${layer.refused_count ? `, ${count(layer.refused_count)} refused` : ""}`))))));
}

export const recording: View = { id: "recording", name: "Recording", key: "", strip: false, mount };
