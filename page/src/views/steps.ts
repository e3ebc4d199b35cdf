// SPDX-License-Identifier: MIT
// Steps: the peak of each step, what a step makes and leaves by part, and a table of all steps.
import { makeBars } from "../chart/bars";
import { madeByPart } from "../model/step_parts";
import { change } from "../state/state";
import { add, button, h, note } from "../ui/dom";
import { change as signed, duration, plural, size } from "../ui/format";
import { makeTable, type Column } from "../ui/table";
import { deviceNumber, layerName, type Context, type Mounted, type View } from "./view";

interface Row {
  index: number;
  begin: number;
  end: number;
  peak: number;
  live: number;
  change: number;
}

function rowsOf(context: Context): Row[] {
  const { report } = context.recording;
  const source = report.steps[0]?.source;
  const number = deviceNumber(context);
  const rows: Row[] = [];
  for (const step of report.steps) {
    if (step.source !== source) continue;
    const here = step.devices.find((each) => each.layer === context.layer?.name && each.device === number);
    const live = here?.end_live_bytes ?? 0;
    rows.push({ index: step.index, begin: step.begin_ns, end: step.end_ns, peak: here?.peak_bytes ?? 0, live, change: live - (rows[rows.length - 1]?.live ?? live) });
  }
  return rows;
}

function mount(box: HTMLElement, context: Context): Mounted {
  const { report } = context.recording;
  const rows = rowsOf(context);
  if (rows.length === 0 || !context.layer) {
    add(box, h("div", { class: "nothing" }, h("p", {}, `There are no steps${report.no_steps ? `: ${report.no_steps}` : ""}.`),
      note("A program can say where its steps are: gpumemtrace.step() in its loop, or steps=SOURCE in the recorder's options.")));
    return {};
  }
  const chart = makeBars("Peak of each step, and what was live at its end",
    rows.map((row) => ({ label: String(row.index), value: row.peak, inner: row.live, rows: [[`step ${row.index}: peak`, size(row.peak)], ["live at its end", size(row.live)], ["lasts", duration(row.end - row.begin)]] as [string, string][] })),
    (at) => change({ from: rows[at]!.begin, to: rows[at]!.end }));
  const parts = report.step_parts.filter((part) => part.layer === context.layer!.name && part.device === deviceNumber(context));
  const source = report.steps[0]!.source;
  const byPart = madeByPart(context.recording, context.layer);
  const partColumns = (byPart?.parts ?? []).map((part, at): Column<Row> => ({
    id: `made-${part}`, name: `In ${part}`, numeric: true, title: `Bytes made in ${part}, to the nearest bucket`,
    value: (row) => byPart!.made.get(row.index)?.[at] ?? 0, cell: (row) => size(byPart!.made.get(row.index)?.[at] ?? 0),
  }));
  add(box,
    h("section", { class: "panel" },
      h("h2", {}, `${plural(rows.length, "step")} of ${layerName(context.layer.name)}, counted by ${source}`),
      h("p", { class: "legend-line" }, h("span", { class: "legend-item" }, h("span", { class: "swatch faint", color: "var(--accent)" }), "peak in the step"), h("span", { class: "legend-item" }, h("span", { class: "swatch", color: "var(--accent)" }), "live at its end")),
      chart.element, note("Choose a bar to select its step as the range: by a click, or by the arrow keys and Enter.")),
    h("h2", { class: "section-gap" }, "An average step, by part (without the first step)"),
    makeTable({
      caption: "What each part of a step makes, carries on and keeps",
      rows: parts,
      sort: "-made",
      empty: "Parts of a step are not known.",
      columns: [
        { id: "part", name: "Part", value: (row) => row.part, cell: (row) => row.part },
        { id: "made", name: "Made", numeric: true, title: "Bytes allocated each time", value: (row) => row.made_bytes, cell: (row) => size(row.made_bytes) },
        { id: "carried", name: "Carried on", numeric: true, title: "Live at the end of the step, and freed later", value: (row) => row.carried_bytes, cell: (row) => size(row.carried_bytes) },
        { id: "kept", name: "Kept", numeric: true, title: "Never freed", value: (row) => row.kept_bytes ?? 0, cell: (row) => (row.kept_bytes === null ? "not known" : size(row.kept_bytes)) },
        { id: "peak", name: "Peak", numeric: true, title: "Largest live memory of the layer while the part allocated", value: (row) => row.peak_bytes, cell: (row) => size(row.peak_bytes) },
        { id: "times", name: "Times", numeric: true, value: (row) => row.times, cell: (row) => String(row.times) },
      ],
    }),
    h("h2", { class: "section-gap" }, "All steps"),
    makeTable({
      caption: "All steps",
      rows,
      sort: "index",
      limit: 50,
      columns: [
        { id: "index", name: "Step", numeric: true, value: (row) => row.index, cell: (row) => String(row.index) },
        { id: "begin", name: "Begins", numeric: true, value: (row) => row.begin, cell: (row) => duration(row.begin) },
        { id: "lasts", name: "Lasts", numeric: true, value: (row) => row.end - row.begin, cell: (row) => duration(row.end - row.begin) },
        { id: "peak", name: "Peak", numeric: true, value: (row) => row.peak, cell: (row) => size(row.peak) },
        { id: "live", name: "At its end", title: "Live bytes at the end of the step", numeric: true, value: (row) => row.live, cell: (row) => size(row.live) },
        { id: "change", name: "Change", numeric: true, title: "Compared with the end of the step before", value: (row) => row.change, cell: (row) => signed(row.change) },
        ...partColumns,
        { id: "more", name: "", cell: (row) => h("span", {}, button("Made", () => change({ view: "flame", metric: "made", from: row.begin, to: row.end, root: "" }), { class: "quiet", title: "Flame graph of what the step made" }), button("Left", () => change({ view: "flame", metric: "grew", from: row.begin, to: row.end, root: "" }), { class: "quiet", title: "Flame graph of what the step left" })) },
      ],
    }));
  return { close: () => chart.close() };
}

export const steps: View = {
  id: "steps", name: "Steps", key: "7", strip: true, mount,
  isEmpty: (context) => context.recording.report.steps.length === 0,
};
