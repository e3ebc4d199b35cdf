// SPDX-License-Identifier: MIT
// The lines of the user's code, as a table that sorts and filters.
import { sparkline } from "../chart/sparkline";
import { curvesOf } from "../model/growth";
import { leaksByLine, type LineLeak } from "../model/leak_lines";
import { linesOf, sumOver, type Line } from "../model/lines";
import { lastMoment } from "../model/moments";
import { leaksHere } from "../model/verdict";
import { weigh } from "../model/weights";
import { change, state } from "../state/state";
import { add, button, cut, cutPath, h, note, replace } from "../ui/dom";
import { count, percent, plural, size } from "../ui/format";
import { categoryMeaning } from "../ui/meanings";
import { siteStack } from "../ui/stack_view";
import { bar, makeTable, type Column } from "../ui/table";
import { endReason } from "./empty_view";
import { layerName, whereOf, type Context, type Mounted, type View } from "./view";

interface Row {
  line: Line;
  made: number;
  cursor: number;
  last: number;
}

function mount(box: HTMLElement, context: Context): Mounted {
  const first = whereOf(context);
  if (!first) {
    add(box, note("Nothing was allocated here."));
    return {};
  }
  const { recording, device, layer } = first;
  const all = linesOf(recording, layer, device.device);
  const curves = new Map<string, Float64Array>();
  curvesOf(recording, layer, all, 96).forEach((values, at) => curves.set(all[at]!.key, values));
  const leaks = leaksByLine(leaksHere(context).filter((leak) => leak.layer === layer.name));
  const last = lastMoment(recording, layer);
  const atLast = weigh(first, "last");
  const nothingLeft = all.every((line) => line.liveBytes === 0);
  const curve = (line: Line): Float64Array => curves.get(line.key)!;
  const table = h("div");
  const filter = h("input", {
    type: "search", class: "search", placeholder: "Filter: file, function, category, operator, owner", "aria-label": "Filter the lines",
    value: state().filter, oninput: () => change({ filter: filter.value }),
  }) as HTMLInputElement;
  const counted = h("span", { class: "muted" });

  const draw = (): void => {
    const where = whereOf(context)!;
    const made = weigh(where, "made");
    const cursor = weigh(where, "cursor");
    const words = state().filter.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = all
      .filter((line) => {
        const text = `${line.name} ${line.function} ${line.category} ${line.operator} ${line.owner}`.toLowerCase();
        return words.every((word) => text.includes(word));
      })
      .map((line) => ({ line, made: sumOver(line, made), cursor: sumOver(line, cursor), last: sumOver(line, atLast) }));
    const most = Math.max(1, ...rows.map((row) => row.line.peakBytes));
    const range = where.from !== null;
    counted.textContent = words.length > 0 ? `${count(rows.length)} of ${plural(all.length, "line")}` : plural(all.length, "line");
    replace(
      table,
      makeTable({
        caption: `Lines of code by memory in ${layerName(layer.name)}`,
        rows,
        sort: state().sort || "-peak",
        onsort: (sort) => change({ sort }),
        limit: 60,
        key: (row) => row.line.key,
        opened: state().selected,
        onopen: (selected) => change({ selected }),
        empty: "No line contains these words.",
        columns: ([
          { id: "name", name: "Line", value: (row) => row.line.name, className: "main", cell: (row) => h("span", { class: "line-name" }, cutPath(row.line.name, "code"), row.line.function ? cut(`in ${row.line.function}`, "muted") : null, leakTag(leaks.get(row.line.key))) },
          { id: "peak", name: "At the peak", numeric: true, title: "Live bytes at the peak of the layer", value: (row) => row.line.peakBytes, cell: (row) => bar(size(row.line.peakBytes), row.line.peakBytes, most, `${count(row.line.peakBytes)} bytes`) },
          { id: "share", name: "Share", numeric: true, value: (row) => row.line.peakBytes, cell: (row) => (row.line.peakBytes ? percent(row.line.peakBytes, layer.peakBytes) : "\u2013") },
          { id: "curve", name: "Over time", cell: (row) => sparkline(curve(row.line), `Live bytes over time, at most ${size(Math.max(0, ...curve(row.line)))}`) },
          { id: "blocks", name: "Blocks", numeric: true, title: "Blocks at the peak", value: (row) => row.line.peakBlocks, cell: (row) => count(row.line.peakBlocks) },
          where.cursor !== null && { id: "cursor", name: "At the cursor", numeric: true, value: (row) => row.cursor, cell: (row) => size(row.cursor) },
          last && { id: "last", name: last.name.charAt(0).toUpperCase() + last.name.slice(1), numeric: true, title: `Live bytes ${last.name}, before the program ends and frees its memory`, value: (row) => row.last, cell: (row) => size(row.last) },
          { id: "made", name: range ? "Made in the range" : "Made", numeric: true, title: "Bytes allocated in the range, or in the whole recording", value: (row) => row.made, cell: (row) => size(row.made) },
          !nothingLeft && { id: "left", name: "At the end", numeric: true, title: "Live bytes at the end of the program's work", value: (row) => row.line.liveBytes, cell: (row) => size(row.line.liveBytes) },
          { id: "allocs", name: "Allocations", numeric: true, title: "In the whole recording", value: (row) => row.line.allocs, cell: (row) => count(row.line.allocs) },
          { id: "category", name: "Category", wide: true, value: (row) => row.line.category, cell: (row) => h("span", { class: "cut narrow", title: categoriesMean(row.line) }, row.line.category) },
          { id: "operator", name: "Operator", wide: true, value: (row) => row.line.operator, cell: (row) => cut(row.line.operator, "narrow") },
        ] as (Column<Row> | false)[]).filter((column) => column !== false),
        detail: (row) =>
          h("div", { class: "sites" },
            h("p", { class: "muted" }, `${plural(row.line.sites.length, "stack")} through this line${row.line.owner ? `, owner ${row.line.owner}` : ""}. The allocating call stands first.`),
            ...row.line.sites.slice(0, 5).map((site) =>
              h("section", { class: "site" },
                h("h3", {}, `${size(site.peakBytes)} at the peak`, h("span", { class: "muted" }, `  ${site.category}, ${plural(site.allocs, "allocation")}, ${size(site.totalBytes)} in total${site.module ? `, ${site.module}` : ""}`)),
                siteStack(recording, site)))),
      }),
    );
  };
  add(box, h("div", { class: "controls" }, filter, counted), nothingLeft ? h("p", { class: "note spaced-below" }, endReason(first)) : null, table);
  draw();
  // A row that another view chose: after the page has scrolled to its top.
  requestAnimationFrame(() => table.querySelector("tr.open")?.scrollIntoView({ block: "nearest" }));
  return {
    update(changed) {
      if (changed.has("filter") && filter.value !== state().filter) filter.value = state().filter;
      if (changed.has("filter") || changed.has("cursor") || changed.has("from") || changed.has("to")) draw();
    },
  };
}

/** What a finding of the line keeps: the number of the view of leaks, which the tag opens. */
function leakTag(leak: LineLeak | undefined): HTMLElement | null {
  if (!leak) return null;
  return button(`leak: ${size(leak.bytes)}${leak.blocks === null ? "" : ` in ${plural(leak.blocks, "block")}`}`, () => change({ view: "leaks" }), { class: "tag", title: "What the finding about this line keeps. The other columns count all blocks of the line" });
}

const categoriesMean = (line: Line): string => [...new Set(line.sites.map((site) => site.category))].map((name) => categoryMeaning(name) ?? name).join("\u2003");

export const lines: View = { id: "lines", name: "Lines", key: "4", strip: true, mount };
