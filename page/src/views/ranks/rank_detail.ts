// SPDX-License-Identifier: MIT
// All that the page knows of one rank, and the way to its own views.
import type { Job } from "../../data/job";
import { nameOf, placeText, wordsOf } from "../../model/job_rows";
import { change } from "../../state/state";
import { button, cut, h, note, type Child } from "../../ui/dom";
import { change as signed, count, duration, percent, plural, size } from "../../ui/format";

/** Quotes a text for a shell, if it needs that. */
export const shellQuote = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) && !text.startsWith("-") ? text : `'${text.replace(/'/g, "'\\''")}'`);

export function openRank(job: Job, index: number): boolean {
  const recording = job.recording[index] ?? -2;
  if (recording < 0) return false;
  change({ view: "summary", recording, device: null, layer: null, cursor: null, from: null, to: null, left: null, right: null, root: "", sort: "", filter: "", selected: "" });
  return true;
}

/** A button that opens the rank's own views, or the command that makes them. */
export function wayTo(job: Job, index: number): HTMLElement {
  const rank = job.report.ranks[index]!;
  const recording = job.recording[index] ?? -2;
  if (recording >= 0) return button(`Open the views of ${nameOf(rank)}`, () => openRank(job, index), { class: "more open-rank" });
  const command = `gpumemtrace report --html ${shellQuote(job.files[index] ?? rank.file)}`;
  return h("div", { class: "way" },
    h("p", { class: "muted small" }, recording === -1 ? "This page does not have the rank's own views. This command makes them (or all: ranks --html --pages all):" : "Only the rank's summary was read. Where its recording is, this command makes a page of it:"),
    h("code", { class: "wrap code" }, command));
}

const row = (name: string, value: Child): HTMLElement => h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, value));

/** The facts of a rank, as a table. */
export function rankDetail(job: Job, index: number): HTMLElement {
  const rank = job.report.ranks[index]!;
  const median = job.report.peaks?.median_bytes ?? 0;
  const outlier = job.report.outliers.find((each) => each.index === index);
  const group = rank.group === null ? null : job.report.groups[rank.group];
  const difference = outlier ?? (group?.difference?.index === index ? group.difference : null);
  const failure = rank.first_failure;
  const device = rank.device === null ? "" : ` on GPU ${rank.device}`;
  const facts: (HTMLElement | null)[] = [
    row("Process", `${rank.pid} on ${rank.host ?? "an unknown host"}${rank.local_rank === null ? "" : `, local rank ${rank.local_rank}`}${rank.role ? `, ${rank.role}` : ""}`),
    rank.peak_bytes === null ? row("Peak", "no GPU memory") : row("Peak", `${size(rank.peak_bytes)}${device}${rank.total_bytes ? `, ${percent(rank.peak_bytes, rank.total_bytes)} of it` : ""}${rank.peak_step === null ? "" : `, in step ${rank.peak_step}`}; ${signed(rank.peak_bytes - median)} compared with the median rank`),
    rank.reserved_peak_bytes ? row("Reserved", size(rank.reserved_peak_bytes)) : null,
    rank.in_use_bytes === null ? null : row("Device in use", `${size(rank.in_use_bytes)}${rank.other_processes_bytes ? `, ${size(rank.other_processes_bytes)} of it by other processes` : ""}`),
    row("Ran", `${plural(rank.steps, "step")} in ${duration(rank.duration_ns)}; end: ${rank.end.replace(/_/g, " ")}${rank.complete ? "" : "; the recording is incomplete"}${rank.earlier_attempts ? `; ${plural(rank.earlier_attempts, "earlier attempt")}` : ""}`),
    rank.growth ? row("Grows", `${rank.growth.step_bytes === null ? size(rank.growth.bytes) : `${size(rank.growth.step_bytes)} a step`} from step ${rank.growth.first_step}, ${placeText(rank.growth.place)}${rank.growth.hint ? `: ${rank.growth.hint}` : ""}`) : null,
    failure ? row("Out of memory", `${count(rank.failures)} failed; the first${failure.step === null ? "" : ` in step ${failure.step}`} asked for ${size(failure.requested_bytes)}${failure.free_bytes === null ? "" : ` with ${size(failure.free_bytes)} free`}, ${placeText(failure.place)}`) : null,
    difference ? row(`Compared with ${difference.compared_with_rank === null ? "another" : `rank ${difference.compared_with_rank}`}`, h("div", {}, signed(difference.difference_bytes), ...difference.lines.map((line) => h("div", { class: "code verdict-line" }, `${signed(line.difference_bytes)}  ${placeText(line.place)}`)))) : null,
    row("File", h("code", { class: "wrap" }, rank.file)),
  ];
  return h("div", { class: "rank-detail" }, wayTo(job, index), h("table", { class: "facts-table" }, h("tbody", {}, ...facts)));
}

/** The panel of the selected row. */
export function selectedPanel(job: Job, key: string, index: number | null): HTMLElement {
  if (index === null) return note("Choose a cell of the map to see all about its rank.");
  if (index < 0) {
    return h("section", { class: "selected-rank" }, h("h2", {}, `rank ${key}`),
      h("p", {}, "Missing: no file of this rank was found."),
      note("It may not have started, may have run without the recorder, or its file was not copied."));
  }
  const rank = job.report.ranks[index]!;
  const words = wordsOf(rank);
  return h("section", { class: "selected-rank" },
    h("h2", { class: "selected-name" }, cut(`${nameOf(rank)}${rank.host ? ` on ${rank.host}` : ""}`), ...words.map((word) => h("span", { class: "tag" }, word))),
    rankDetail(job, index));
}
