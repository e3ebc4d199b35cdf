// SPDX-License-Identifier: MIT
// The ledger: the memory in use on the device, line by line, at the peak, at the end, and when memory ran out.
import type { LedgerState } from "../data/report";
import { LEDGER_TEXT } from "../model/verdict";
import { add, h, note } from "../ui/dom";
import { duration, percent, size } from "../ui/format";
import { colorOf, OTHER } from "../ui/palette";
import { scrollHint } from "../ui/table";
import type { Context, View } from "./view";

const ORDER = Object.keys(LEDGER_TEXT);
const ink = (name: string): string => (name === "unexplained" ? OTHER : colorOf("ledger", name, ORDER.indexOf(name)));

const deviceOf = (context: Context): number => context.device?.device ?? context.entry.devices[0]?.device ?? 0;

function mount(box: HTMLElement, context: Context): void {
  const device = deviceOf(context);
  const ledger = context.recording.report.ledger.find((each) => each.device === device);
  if (!ledger) {
    add(box, note("The recording has no ledger of this device."));
    return;
  }
  const failed = context.recording.report.ooms.find((oom) => oom.device === device && oom.ledger !== null && !oom.recovered);
  const moments: { name: string; state: LedgerState }[] = [];
  if (ledger.at_peak) moments.push({ name: `at the peak, ${duration(ledger.at_peak.time_ns)}`, state: ledger.at_peak });
  if (failed?.ledger) moments.push({ name: `out of memory, ${duration(failed.time_ns)}`, state: failed.ledger });
  moments.push({ name: `at the end, ${duration(ledger.time_ns)}`, state: ledger });
  const most = Math.max(1, ...moments.map(({ state }) => Math.max(state.used_bytes, state.total_bytes)));
  const names = ledger.lines.map((line) => line.name).filter((name) => moments.some(({ state }) => state.lines.some((line) => line.name === name && line.bytes !== 0)));
  const zero = ledger.lines.filter((line) => !names.includes(line.name));
  const scroller = h("div", { class: "scroll-x", tabindex: "0", role: "region", "aria-label": "The ledger" });
  add(box,
    h("section", { class: "panel" },
      ...moments.map(({ name, state }) =>
        h("div", { class: "ledger-row" },
          h("div", { class: "ledger-head" }, h("span", {}, name), h("span", { class: "number" }, `${size(state.used_bytes)}${state.total_bytes ? ` of ${size(state.total_bytes)}` : ""} in use`)),
          h("div", { class: "stacked-bar tall sunk", role: "img", "aria-label": `Memory in use ${name}` }, ...state.lines.filter((line) => line.bytes > 0).map((line) => h("span", { color: ink(line.name), width: `${(line.bytes / most) * 100}%`, title: `${LEDGER_TEXT[line.name] ?? line.name}: ${size(line.bytes)}` }))))),
      ledger.asked_at_ns === null ? note("The device did not report its memory: only recorded memory is counted.") : null),
    h("div", { class: "table-box" },
      (add(scroller, h("table", {},
        h("caption", { class: "hidden-text" }, "The memory in use on the device, line by line"),
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Line"), ...moments.map(({ name }) => h("th", { scope: "col", class: "number" }, name)), h("th", { scope: "col", class: "number" }, "Share at the first"))),
        h("tbody", {}, ...names.map((name) =>
          h("tr", {}, h("td", {}, h("span", { class: "legend-name" }, h("span", { class: "swatch", color: ink(name) }), LEDGER_TEXT[name] ?? name)),
            ...moments.map(({ state }) => {
              const line = state.lines.find((each) => each.name === name);
              return h("td", { class: "number" }, line && !line.known && line.bytes === 0 ? "not known" : size(line?.bytes ?? 0));
            }),
            h("td", { class: "number" }, percent(moments[0]!.state.lines.find((each) => each.name === name)?.bytes ?? 0, moments[0]!.state.used_bytes)))),
          h("tr", { class: "sum" }, h("td", {}, "in use, as the device reports"), ...moments.map(({ state }) => h("td", { class: "number" }, size(state.used_bytes))), h("td", {}))))), scroller), scrollHint(scroller)),
    zero.length > 0 ? h("p", { class: "note spaced" }, `Zero at all moments: ${zero.map((line) => (LEDGER_TEXT[line.name] ?? line.name) + (line.known ? "" : " (not known)")).join(", ")}.`) : null);
}

export const ledger: View = {
  id: "ledger", name: "Ledger", key: "9", strip: false, mount,
  isEmpty: (context) => !context.recording.report.ledger.some((each) => each.device === deviceOf(context)),
};
