// SPDX-License-Identifier: MIT
// Leaks and growth: the findings of the program with their evidence, and what each line held at the ends of steps.
import { makeBars } from "../chart/bars";
import { sparkline } from "../chart/sparkline";
import type { Surface } from "../chart/surface";
import type { GrownLine, Leak } from "../data/report";
import { growthOf, type Growth } from "../model/growth";
import { linesOf } from "../model/lines";
import { leaksByLine } from "../model/leak_lines";
import { fileName, frameKey, frameLine, shortPath } from "../model/names";
import { leakLine, leaksHere, leakSentence } from "../model/verdict";
import { change } from "../state/state";
import { add, button, cut, cutPath, h, note } from "../ui/dom";
import { change as signed, count, percent, plural, size } from "../ui/format";
import { frameStack } from "../ui/stack_view";
import { makeTable } from "../ui/table";
import { fact } from "../ui/fact";
import { layerName, whereOf, type Context, type Mounted, type View } from "./view";

function finding(context: Context, leak: Leak, surfaces: Surface[]): HTMLElement {
  const { recording } = context;
  const where = leakLine(context, leak);
  const panel = h("section", { class: "panel leak" },
    h("h2", { class: "code-title" }, cutPath(where)),
    callers(leak, recording.report.process.directory),
    h("p", {}, `${layerName(leak.layer)}: ${leakSentence(leak)}.`),
    leak.hint ? h("p", { class: "cause" }, h("strong", {}, "Usual cause: "), leak.hint) : null,
    h("dl", { class: "facts" },
      fact("Kept", size(leak.bytes), "All blocks of the finding together"),
      leak.blocks !== null ? fact("Blocks", count(leak.blocks)) : null,
      leak.bytes_per_step !== null ? fact("Each step", signed(leak.bytes_per_step)) : null,
      leak.steps !== null ? fact("Judged over", plural(leak.steps, "step"), "Steps of the warm-up do not count") : null,
      leak.steps_to_oom !== null ? fact("Device is full in", leak.steps_to_oom > 1e6 ? "over 1 million steps" : plural(leak.steps_to_oom, "step")) : null,
      leak.confidence !== null ? fact("Confidence", percent(leak.confidence, 1)) : null,
      leak.category ? fact("Category", leak.category) : null));
  if (leak.attribution.length > 0) {
    // The finding may count calls of a module, while the page shows the optimizer's steps.
    const ownSteps = recording.report.steps[0]?.source === leak.source;
    const word = ownSteps ? "step" : `step by ${leak.source ?? "allocations"}`;
    const bars = leak.attribution.map((each) => {
      const steps = each.last_step - each.first_step + 1;
      const label = each.first_step === each.last_step ? `${each.first_step}` : `${each.first_step}\u2013${each.last_step}`;
      return { label, value: each.bytes / steps, rows: [[`${word} ${label}`, steps === 1 ? size(each.bytes) : `${size(each.bytes)}, ${size(Math.round(each.bytes / steps))} each`], ["blocks", count(each.blocks)]] as [string, string][] };
    });
    const chart = makeBars(`Retained memory by the ${word} that allocated it`, bars, (at) => {
      if (!ownSteps) return;
      const step = recording.steps.find((each) => each.index === leak.attribution[at]!.first_step);
      const last = recording.steps.find((each) => each.index === leak.attribution[at]!.last_step);
      if (step && last) change({ from: step.beginNs, to: last.endNs });
    });
    surfaces.push(chart);
    const isMean = leak.attribution.some((each) => each.last_step > each.first_step);
    add(panel, h("h3", { class: "small muted" }, `What each ${word} left${isMean ? ": the mean of the steps of a bar" : ""}${ownSteps ? " (choose a bar to select its steps)" : ""}`), chart.element);
  }
  if (leak.definition !== "unexplained" && leak.stack.length > 0 && context.layer?.name === leak.layer) {
    add(panel, h("div", { class: "legend-actions" },
      button("All blocks of this line", () => change({ view: "lines", selected: frameKey(leak.stack[leak.own_frame ?? 0]), filter: "", sort: "" })),
      button("What was live when the work ended", () => change({ view: "flame", metric: "last", root: "", search: searchFor(where) }), { title: "The flame graph after the last step, with this line marked" }),
      button("Timeline by line", () => change({ view: "timeline", by: "line", mode: "stack" }))));
  }
  if (leak.stack.length > 0) add(panel, h("details", {}, h("summary", {}, "Stack of the allocations"), frameStack(leak.stack, leak.own_frame, recording.report.process.directory)));
  return panel;
}

/** The function of the line, and the lines of the user's code that called it, the nearest first. */
function callers(leak: Leak, directory: string): HTMLElement | null {
  const own = leak.own_frame ?? 0;
  const frame = leak.stack[own];
  if (leak.definition === "unexplained" || !frame?.file) return null;
  const folder = frame.file.slice(0, frame.file.lastIndexOf("/") + 1);
  const above = leak.stack.slice(own + 1).filter((each) => each.kind === "python" && each.file?.startsWith(folder)).slice(0, 3);
  return h("p", { class: "muted small" }, `in ${frame.function}`, above.length > 0 ? ", called by " : "",
    ...above.flatMap((each, at) => [at > 0 ? " \u2190 " : "", `${each.function} `, h("span", { class: "code" }, fileName(frameLine(each, directory)))]));
}

/** A search of the flame graph that finds a file and line. */
const searchFor = (where: string): string => `(^|/)${fileName(where).replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`;

function grownList(context: Context, title: string, rows: GrownLine[]): HTMLElement | null {
  if (rows.length === 0) return null;
  const { directory } = context.recording.report.process;
  return h("section", { class: "panel" }, h("h2", {}, title),
    h("table", { class: "plain" }, h("tbody", {}, ...rows.map((row) =>
      h("tr", {}, h("th", { scope: "row" }, row.file ? h("span", { class: "line-name" }, cutPath(`${shortPath(row.file, directory)}:${row.line ?? 0}`, "code"), cut(`in ${row.function}`, "muted")) : cut(row.function, "code")), h("td", { class: "number" }, size(row.bytes)))))));
}

function growthTable(context: Context): HTMLElement {
  const where = whereOf(context);
  if (!where) return note("Nothing was allocated here.");
  const { recording, layer, device } = where;
  const rows = growthOf(recording, device, layer, linesOf(recording, layer, device.device)).filter((row) => row.atStepEnds.some((value) => value > 0));
  const leaks = leaksByLine(leaksHere(context).filter((leak) => leak.layer === layer.name));
  if (recording.steps.length < 2) return note(recording.report.no_steps ? `There are no steps: ${recording.report.no_steps}.` : "There are fewer than two steps.");
  const perStep = (row: Growth): number => leaks.get(row.line.key)?.perStep ?? row.perStep;
  return makeTable<Growth>({
    caption: "Live memory of each line at the ends of steps",
    rows,
    sort: "-grew",
    limit: 40,
    empty: "No line held memory at the end of a step.",
    columns: [
      { id: "name", name: "Line", className: "main", value: (row) => row.line.name, cell: (row) => h("span", { class: "line-name" }, cutPath(row.line.name, "code"), row.line.function ? cut(`in ${row.line.function}`, "muted") : null) },
      { id: "curve", name: "At the ends of steps", cell: (row) => sparkline(row.atStepEnds, `Live bytes at the ends of ${recording.steps.length} steps`) },
      { id: "first", name: "After the first step", title: "Live bytes of all blocks of the line", numeric: true, value: (row) => row.atStepEnds[0]!, cell: (row) => size(row.atStepEnds[0]!) },
      { id: "last", name: "After the last step", title: "Live bytes of all blocks of the line", numeric: true, value: (row) => row.atStepEnds[row.atStepEnds.length - 1]!, cell: (row) => size(row.atStepEnds[row.atStepEnds.length - 1]!) },
      { id: "grew", name: "Each step", title: "Change from step to step. For a line with a finding: the finding's number. Else the mean over the second half of the steps, when a warm-up is over", numeric: true, value: perStep, cell: (row) => signed(Math.round(perStep(row))) },
      { id: "leak", name: "Leak", title: "What a finding above keeps", numeric: true, value: (row) => leaks.get(row.line.key)?.bytes ?? 0, cell: (row) => (leaks.has(row.line.key) ? h("span", { class: "tag" }, size(leaks.get(row.line.key)!.bytes)) : "\u2013") },
      { id: "category", name: "Category", wide: true, value: (row) => row.line.category, cell: (row) => cut(row.line.category, "narrow") },
      { id: "more", name: "", cell: (row) => button("Details", () => change({ view: "lines", selected: row.line.key, filter: "" }), { class: "quiet" }) },
    ],
  });
}

function mount(box: HTMLElement, context: Context): Mounted {
  const { report } = context.recording;
  const surfaces: Surface[] = [];
  const found = leaksHere(context);
  if (found.length === 0) add(box, h("section", { class: "panel" }, h("p", { class: "lead" }, report.growth_not_judged ? "Leaks were not judged" : "No leak was found"), report.growth_not_judged ? note(`Growth was not judged: ${report.growth_not_judged}.`) : null));
  add(box, ...found.map((leak) => finding(context, leak, surfaces)));
  for (const text of [found.length > 0 ? report.growth_not_judged : null, report.phases_not_judged, report.end_not_judged]) if (text) add(box, note(`Not judged: ${text}.`));
  add(box, h("h2", { class: "section-gap" }, "Growth by line"), note("All blocks of each line at the ends of steps, leaking or not. A line that grows here and is no finding above is not a proven leak: a cache that fills up also grows."), h("div", { class: "spaced" }, growthTable(context)));
  add(box, grownList(context, "Grew for a while and was given back: no leak", report.given_back), grownList(context, "Grows less and less, as a cache that fills up: no leak", report.levels_off));
  return { close: () => surfaces.forEach((surface) => surface.close()) };
}

export const leaks: View = {
  id: "leaks", name: "Leaks and growth", key: "5", strip: true, mount,
  badge: (context) => (leaksHere(context).length > 0 ? { text: String(leaksHere(context).length), alarm: true } : null),
};
