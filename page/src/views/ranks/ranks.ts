// SPDX-License-Identifier: MIT
// The first view of a job: which rank is different, which one grew first, which one died.
import type { Job } from "../../data/job";
import { gridOf, hasSteps, hasTimes } from "../../model/job_grid";
import { keyOf, ORDERS, rowsOf } from "../../model/job_rows";
import { showOf, showsOf, valuesOf } from "../../model/job_values";
import { headlineOf, titleOf, verdictsOf, type Verdict } from "../../model/job_verdict";
import { change, state } from "../../state/state";
import { add, button, choice, h, note, replace, select } from "../../ui/dom";
import type { Mounted, View } from "../view";
import { HIGH, makeHeatMap, ZOOMS, zoomNow } from "./heat_map";
import { plotHeight } from "./layout";
import { makeLegend } from "./legend";
import { makeMultiples } from "./multiples";
import { openRank, selectedPanel } from "./rank_detail";
import { rankTable, sumTables } from "./tables";

/** Below a map that is lower than this, there is room for the selected rank. */
const LOW = 300;

function verdictRow({ label, text, bad, lines, ranks }: Verdict): HTMLElement {
  return h("tr", { class: bad ? "is-bad" : "" },
    h("th", { scope: "row" }, label),
    h("td", {}, text.replace(/ %/g, "\u00a0%"), " ",
      ...ranks.map((rank) => button("Show", () => change({ rank: rank.key }), { class: "quiet show-rank", "aria-label": `Show ${rank.name} in the map`, title: `Show ${rank.name} in the map` })),
      ...lines.map((line) => h("div", { class: "code verdict-line" }, line))));
}

function controls(job: Job): HTMLElement {
  const now = state();
  const rows = rowsOf(job, "rank").length;
  const axis = gridOf(job, now.axis).kind === "step" ? "step" : "time";
  return h("div", { class: "controls heat-controls" },
    select("Show", showsOf(job).map((show) => ({ value: show.id, text: show.name })), showOf(now.show).id, (show) => change({ show })),
    select("Rows by", ORDERS, now.order, (order) => change({ order })),
    rows * HIGH > plotHeight(rows) ? h("span", { class: "field" }, h("span", { class: "field-name" }, "Height"), choice("Height of a row", ZOOMS, String(zoomNow()), (zoom) => change({ zoom: Number(zoom) }))) : null,
    hasSteps(job) && hasTimes(job) ? choice("Axis", [{ value: "step", text: "Step" }, { value: "time", text: "Time" }], axis, (to) => change({ axis: to, step: null })) : null);
}

function mountJob(box: HTMLElement, job: Job): Mounted {
  const { report } = job;
  const values = () => valuesOf(job, gridOf(job, state().axis), state().show);
  const map = makeHeatMap(job, (index) => {
    if (!openRank(job, index)) change({ rank: keyOf(report.ranks[index]!) });
  });
  const legend = makeLegend(values);
  const multiples = makeMultiples(job);
  const table = rankTable(job);
  const controlBox = h("div");
  const panelBox = h("div", { class: "job-selected" });
  const showNote = h("p", { class: "note heat-note" });
  const index = (): number | null => rowsOf(job, "rank").find((row) => row.key === state().rank)?.index ?? null;
  const drawControls = (): void => {
    replace(controlBox, controls(job));
    const show = showOf(state().show);
    const { grid } = values();
    replace(showNote, `${show.title.replace("%", grid.kind === "step" ? "step" : "stretch of time")}. ${grid.kind === "step" && grid.unit > 1 ? `A column is ${grid.unit} steps. ` : ""}${grid.kind === "own" ? "The clocks of the ranks differ, so each rank begins at 0. " : ""}Hatched: no data.`);
    if (report.ranks.length > 0) legend.draw();
  };
  const drawPanel = (): void => replace(panelBox, selectedPanel(job, state().rank, index()));
  const curves = hasSteps(job) || hasTimes(job);
  drawControls();
  drawPanel();
  add(box,
    h("section", { class: plotHeight(rowsOf(job, "rank").length) < LOW ? "job-top is-low" : "job-top" },
      h("header", { class: "job-head" }, h("h1", { class: "headline job-headline" }, headlineOf(report)), h("p", { class: "muted" }, titleOf(report))),
      h("table", { class: "verdicts" }, h("caption", { class: "hidden-text" }, "Verdicts on the job"), h("tbody", {}, ...verdictsOf(job).map(verdictRow))),
      h("div", { class: "job-map" }, controlBox, curves ? map.element : note("No rank has a curve: nothing was allocated on a device."), legend.element, showNote),
      panelBox),
    report.remarks.length > 0 ? h("details", { class: "panel remarks", open: report.remarks.length <= 2 }, h("summary", {}, `Left out, odd: ${report.remarks.length}`), h("ul", {}, ...report.remarks.map((remark) => h("li", {}, remark)))) : null,
    multiples.element, sumTables(job), table.element);
  return {
    update(changed) {
      map.update();
      if (["show", "order", "zoom", "axis"].some((key) => changed.has(key as never))) {
        drawControls();
        multiples.draw();
      }
      if (changed.has("rank")) drawPanel();
      table.update();
    },
    close() {
      map.close();
      legend.close();
      multiples.close();
    },
  };
}

export const ranks: View = { id: "ranks", name: "Ranks", key: "r", strip: false, mount: () => undefined, mountJob };
