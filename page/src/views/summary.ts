// SPDX-License-Identifier: MIT
// The first view: the memory curve, and whether the program leaks or ran out of memory. Each card links to its view.
import { momentOf } from "../chart/columns";
import { cursorAt } from "../chart/strip";
import { makeSurface, type Surface } from "../chart/surface";
import { makeAxis } from "../model/axis";
import { groupsOf } from "../model/groups";
import { leaksByLine } from "../model/leak_lines";
import { linesOf } from "../model/lines";
import { asMarkdown, leakLine, leaksHere, leakSentence, outside, peakVerdict } from "../model/verdict";
import { change, state } from "../state/state";
import { add, button, cut, cutPath, h, note, replace, swatch, type Child } from "../ui/dom";
import { count, duration, percent, plural, size } from "../ui/format";
import { usageSentences } from "../model/usage";
import { categoryList, categoryMeaning } from "../ui/meanings";
import { colorOf } from "../ui/palette";
import { laneBoxes, paintLanes, type Lane, paintCurves, paintGrid, paintMarks, paintPeak, paintStack, paintTimeAxis, makePlot, largest, type Plot } from "./timeline/paint";
import { deviceReport, layerName, layerReport, peakReport, type Context, type Mounted, type View } from "./view";

function card(title: string, view: string, more: string, ...children: Child[]): HTMLElement {
  return h("section", { class: "card" },
    h("h2", { class: "card-title" }, title),
    h("div", { class: "card-body" }, ...children),
    button(more, () => change({ view }), { class: "card-link" }));
}

function hero(context: Context): { element: HTMLElement; surface: Surface | null } {
  const { recording, device, layer } = context;
  const verdict = peakVerdict(context);
  const head = h("header", { class: "hero-head" }, h("div", {}, h("h1", { class: "headline" }, verdict.headline), h("p", { class: "muted" }, verdict.detail)), answers(context));
  if (!device || !layer || layer.buckets === 0) return { element: h("section", { class: "hero" }, head), surface: null };
  const groups = groupsOf(recording, layer, "category");
  const lanes: Lane[] = device.refusals.length > 0 ? [{ name: "refused", kind: "refusal", rows: 1 }] : [];
  const curves = { reserved: layer.name === "torch", used: false, capacityBytes: 0 };
  let shown: Plot | null = null;
  const surface = makeSurface("hero-chart", `Live memory over time: ${verdict.headline}`, (drawing) => {
    const axis = makeAxis(state().axis, recording, layer);
    const range = { axis, left: 0, right: recording.durationNs, x: 0, width: drawing.width };
    const plot = makePlot(drawing.width, drawing.height, lanes, axis, 0, recording.durationNs, largest(layer, device, range, curves) * 1.06);
    shown = plot;
    paintGrid(drawing, plot);
    paintStack(drawing, plot, layer, groups, -1);
    paintCurves(drawing, plot, layer, device, curves);
    paintTimeAxis(drawing, plot);
    paintMarks(drawing, plot, state().from, state().to, state().cursor);
    paintLanes(drawing, plot, lanes, laneBoxes(recording, device, plot, lanes));
    paintPeak(drawing, plot, layer);
  });
  surface.canvas.addEventListener("click", (event) => {
    const x = event.clientX - surface.canvas.getBoundingClientRect().left;
    change({ view: "timeline", cursor: shown && x >= shown.range.x ? cursorAt(context, momentOf(shown.range, x)) : layer.peakNs });
  });
  surface.canvas.title = "Open the timeline at this moment";
  const legend = h("p", { class: "legend-line" },
    ...groups.slice(0, 8).map((group) => h("span", { class: "legend-item", title: categoryMeaning(group.name) }, swatch(group.color), group.name)),
    curves.reserved ? h("span", { class: "legend-item" }, h("span", { class: "dash is-reserved" }), "reserved by PyTorch") : null);
  return { element: h("section", { class: "hero" }, head, surface.element, legend, usage(context)), surface };
}

/** How well the device is used, in one line that leads to the segments. Nothing if the recording has no evidence. */
function usage(context: Context): HTMLElement | null {
  const sentences = usageSentences(context);
  if (sentences.length === 0) return null;
  const hasSegments = context.recording.report.segments.some((row) => row.device === context.device?.device);
  return h("p", { class: "usage" }, h("strong", {}, "Use of the device: "), `${sentences.join("; ")}. `,
    button(hasSegments ? "Segments and holes" : "The whole ledger", () => change({ view: hasSegments ? "segments" : "ledger", cursor: context.layer?.peakNs ?? null }), { class: "quiet" }));
}

/** Short answers to the questions that people have first. */
function answers(context: Context): HTMLElement {
  const { report } = context.recording;
  const leaks = leaksHere(context);
  const failed = report.ooms.filter((oom) => !oom.recovered).length || report.oom_counts.failed;
  const answer = (text: string, kind: string, view: string): HTMLElement => button(text, () => change({ view }), { class: `answer ${kind}` });
  return h("div", { class: "answers" },
    leaks.length > 0
      ? answer(plural(leaks.length, "leak"), "bad", "leaks")
      : answer(report.growth_not_judged ? "Leaks: not judged" : "No leak found", report.growth_not_judged ? "unknown" : "good", "leaks"),
    failed > 0 ? answer("Out of memory", "bad", "oom") : answer("Never out of memory", "good", "oom"),
    report.complete ? answer("Complete", "good", "recording") : answer("Incomplete", "bad", "recording"));
}

function composition(context: Context): Child {
  const peak = peakReport(context);
  if (!peak || peak.peak_bytes === 0) return note("Nothing was live.");
  const rows = peak.by_category.filter((row) => row.bytes > 0);
  return [
    h("div", { class: "stacked-bar", role: "img", "aria-label": "Shares of the categories" },
      ...rows.map((row, at) => h("span", { color: colorOf("category", row.name ?? "other", at), width: `${(row.bytes / peak.peak_bytes) * 100}%`, title: `${row.name}: ${size(row.bytes)}` }))),
    h("table", { class: "plain" },
      h("caption", { class: "hidden-text" }, "The peak by category"),
      h("tbody", {}, ...rows.slice(0, 7).map((row, at) =>
        h("tr", { title: categoryMeaning(row.name ?? "other") }, h("th", { scope: "row" }, h("span", { class: "legend-name" }, swatch(colorOf("category", row.name ?? "other", at)), cut(row.name ?? "other"))),
          h("td", { class: "number", "data-bytes": row.bytes }, size(row.bytes)), h("td", { class: "number share" }, percent(row.bytes, peak.peak_bytes)))))),
    categoryList(rows.map((row) => row.name ?? "other")) ?? h("span"),
  ].reduce((box, child) => (box.append(child), box), h("div")) as HTMLElement;
}

function topLines(context: Context): { element: Child; rows: { name: string; function: string; bytes: number; blocks: number }[] } {
  const { recording, device, layer } = context;
  if (!device || !layer) return { element: note("There are no lines."), rows: [] };
  const found = linesOf(recording, layer, device.device).filter((line) => line.peakBytes > 0).slice(0, 5);
  const most = found[0]?.peakBytes ?? 1;
  const leaks = leaksByLine(leaksHere(context).filter((leak) => leak.layer === layer.name));
  const element = h("ol", { class: "top-lines" }, ...found.map((line) =>
    h("li", {},
      button("", () => change({ view: "lines", selected: line.key, filter: "", sort: "" }), { class: "top-line", title: `${line.name} in ${line.function}` }),
      h("div", { class: "top-line-head" }, cutPath(line.name, "code"), h("span", { class: "number" }, size(line.peakBytes)), h("span", { class: "number share" }, percent(line.peakBytes, layer.peakBytes))),
      h("div", { class: "meter" }, h("span", { width: `${(line.peakBytes / most) * 100}%` })),
      h("div", { class: "muted small cut", title: line.operator }, [line.function && `in ${line.function}`, plural(line.peakBlocks, "block"), leaks.has(line.key) && `leak: ${size(leaks.get(line.key)!.bytes)}`, line.operator].filter(Boolean).join(" \u00b7 ")))));
  for (const item of element.querySelectorAll("li")) item.querySelector("button")!.textContent = "";
  return {
    element: found.length > 0 ? element : note("No line held memory at the peak."),
    rows: found.map((line) => ({ name: line.name, function: line.function, bytes: line.peakBytes, blocks: line.peakBlocks })),
  };
}

function leakCard(context: Context): HTMLElement {
  const { report } = context.recording;
  const leaks = leaksHere(context);
  if (leaks.length === 0) {
    return card("Leaks", "leaks", "Growth by line", h("p", { class: "lead" }, report.growth_not_judged ? "Not judged" : "None found"), report.growth_not_judged ? note(report.growth_not_judged) : null);
  }
  return card("Leaks", "leaks", leaks.length === 1 ? "The leak, step by step" : "All leaks, step by step",
    h("ul", { class: "findings" }, ...leaks.slice(0, 3).map((leak) =>
      h("li", {}, cutPath(leakLine(context, leak), "code"), h("div", {}, leakSentence(leak)), leak.hint ? h("div", { class: "muted small" }, leak.hint) : null))),
    leaks.length > 3 ? note(`and ${leaks.length - 3} more`) : null);
}

function oomCard(context: Context): HTMLElement {
  const { report } = context.recording;
  const oom = report.ooms.find((each) => !each.recovered) ?? report.ooms[0];
  if (!oom) return card("Out of memory", "timeline", "Timeline", h("p", { class: "lead" }, "Never"), note("No request was refused for lack of memory."));
  return card("Out of memory", "oom", "Who held what",
    h("p", { class: "lead" }, oom.recovered ? `Recovered: ${size(oom.requested_bytes)}` : `${size(oom.requested_bytes)} was refused`),
    h("p", {}, `at ${duration(oom.time_ns)}${oom.step === null ? "" : `, step ${oom.step}`}. ${oom.free_bytes === null ? "" : `${size(oom.free_bytes)} was free, `}${size(oom.cached_bytes)} cached.`),
    oom.would_fit === null ? null : note(oom.would_fit ? "Free and usable cached memory together were enough: fragmentation." : "Free and usable cached memory together were not enough."));
}

function outsideCard(context: Context): HTMLElement {
  const device = context.device?.device ?? 0;
  const ledger = context.recording.report.ledger.find((each) => each.device === device);
  const at = ledger?.at_peak ?? ledger;
  const rows = outside(at);
  const sum = rows.reduce((all, row) => all + row.bytes, 0);
  return card("Outside PyTorch", "ledger", "The whole ledger",
    h("p", { class: "lead" }, at ? size(sum) : "Not known"),
    at ? note(`of ${size(at.used_bytes)} in use on the device ${at === ledger ? "at the end" : "at the peak"}`) : null,
    h("table", { class: "plain" }, h("tbody", {}, ...rows.slice(0, 4).map((row) => h("tr", {}, h("th", { scope: "row" }, cut(row.name)), h("td", { class: "number" }, size(row.bytes)))))));
}

function completeCard(context: Context): HTMLElement {
  const { report } = context.recording;
  return card("Recording", "recording", "Environment",
    h("p", { class: "lead" }, report.complete ? "Complete" : "Incomplete"),
    h("p", {}, `${plural(report.events.replayed, "event")} in ${duration(report.process.duration_ns)}${report.events.dropped ? `, ${count(report.events.dropped)} lost` : ""}.`),
    ...report.remarks.slice(0, 3).map(note));
}

function mount(box: HTMLElement, context: Context): Mounted {
  const top = hero(context);
  const lines = topLines(context);
  const copied = button("Copy as Markdown", () => {
    const text = asMarkdown(context, lines.rows);
    const done = (): void => {
      copied.textContent = "Copied";
      window.setTimeout(() => (copied.textContent = "Copy as Markdown"), 1500);
    };
    const fallback = (): void => {
      replace(fallbackBox, h("textarea", { readonly: true, rows: 12, "aria-label": "The summary as Markdown" }, text));
      (fallbackBox.firstElementChild as HTMLTextAreaElement).select();
    };
    if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, fallback);
    else fallback();
  }, { class: "copy" });
  const fallbackBox = h("div");
  const layer = layerReport(context);
  add(box, top.element,
    h("div", { class: "cards" },
      card("The peak is made of", "timeline", "Timeline by category", composition(context)),
      card("Lines that hold most at the peak", "lines", "All lines", lines.element),
      leakCard(context), oomCard(context), outsideCard(context), completeCard(context)),
    h("p", { class: "foot" }, copied, h("span", { class: "muted" },
      layer ? `${layerName(layer.layer)} on ${deviceReport(context)?.name ?? "this device"}: ${plural(layer.alloc_count, "allocation")}, ${size(layer.total_alloc_bytes)} in total.` : "")),
    fallbackBox);
  return { update: () => top.surface?.draw(), close: () => top.surface?.close() };
}

export const summary: View = { id: "summary", name: "Summary", key: "1", strip: false, mount };
