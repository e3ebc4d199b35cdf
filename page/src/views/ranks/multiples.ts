// SPDX-License-Identifier: MIT
// Small multiples: one small chart for each rank that stands out, with its neighbours and the median of all ranks.
import { FONT, makeSurface, type Surface } from "../../chart/surface";
import type { Job } from "../../data/job";
import { gridOf, type Grid } from "../../model/job_grid";
import { keyOf, nameOf, wordsOf } from "../../model/job_rows";
import { valuesOf } from "../../model/job_values";
import { change, state } from "../../state/state";
import { button, cut, h } from "../../ui/dom";
import { size } from "../../ui/format";
import { columnTick } from "./layout";

const MOST = 8; // charts

/** Indices of the ranks that stand out, the most important first, then the middle of each group. */
export function notable(job: Job): number[] {
  const { report } = job;
  const index = (rank: number | null): number => (rank === null ? -1 : report.ranks.findIndex((each) => each.rank === rank));
  const all = [
    index(report.out_of_memory.first_rank), index(report.first_killed_rank), index(report.growth.first_rank),
    ...report.outliers.slice(0, MOST).map((each) => each.index),
    ...report.groups.slice(1).map((group) => group.difference?.index ?? -1),
    ...report.outliers.slice(0, 1).map((each) => index(each.compared_with_rank)),
  ];
  return [...new Set(all.filter((each) => each >= 0))].slice(0, MOST);
}

/** A curve in a chart: the chart's own rank, a neighbour, or the median of all ranks. */
interface Line {
  values: ArrayLike<number>;
  kind: "own" | "neighbour" | "median";
}

/** The ends of the vertical axis: it begins at 0, unless all curves are far above it. */
function rangeOf(lines: Line[]): [low: number, high: number] {
  let [low, high] = [Infinity, 1];
  for (const { values } of lines) {
    for (let i = 0; i < values.length; i++) {
      const value = values[i]!;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  if (!(low > high / 2)) return [0, high];
  return [Math.max(0, low - (high - low || high * 0.1) * 0.2), high];
}

function curve(job: Job, index: number, linesOf: () => { grid: Grid; lines: Line[] }): Surface {
  return makeSurface("multiple-chart", `Curve of ${nameOf(job.report.ranks[index]!)}`, ({ context: c, width, height, ink }) => {
    const { grid, lines } = linesOf();
    const [low, high] = rangeOf(lines);
    const bottom = height - 18;
    const x = (column: number): number => 1 + ((column + 0.5) / grid.columns) * (width - 2);
    const y = (value: number): number => bottom - 2 - ((value - low) / Math.max(1, high - low)) * (bottom - 16);
    c.strokeStyle = ink.line;
    c.strokeRect(0.5, 12.5, width - 1, bottom - 12.5);
    for (const { values, kind } of lines) {
      c.strokeStyle = kind === "own" ? ink.alarm : ink.muted;
      c.lineWidth = kind === "own" ? 2 : 1;
      c.globalAlpha = kind === "neighbour" ? 0.7 : 1;
      c.setLineDash(kind === "median" ? [4, 3] : []);
      c.beginPath();
      let drawn = false;
      for (let column = 0; column < grid.columns; column++) {
        const value = values[column]!;
        if (value !== value) drawn = false;
        else {
          if (drawn) c.lineTo(x(column), y(value));
          else c.moveTo(x(column), y(value));
          // A value without a next value would be invisible: draw a dash.
          if (!drawn && !(values[column + 1]! >= 0)) c.lineTo(x(column) + 3, y(value));
          drawn = true;
        }
      }
      c.stroke();
    }
    c.globalAlpha = 1;
    c.setLineDash([]);
    c.font = FONT;
    c.fillStyle = ink.muted;
    c.textBaseline = "middle";
    c.textAlign = "left";
    c.fillText(size(Math.round(high)), 1, 5);
    c.fillText(size(Math.round(low)), 1, bottom + 10);
    c.textAlign = "right";
    c.fillText(`${grid.kind === "step" ? "to step " : "to "}${columnTick(grid, grid.columns - (grid.kind === "step" ? 1 : 0))}`, width - 1, bottom + 10);
  });
}

export function makeMultiples(job: Job): { element: HTMLElement | null; draw(): void; close(): void } {
  const found = notable(job);
  const surfaces: Surface[] = [];
  const { ranks } = job.report;
  const cards = found.map((index) => {
    const rank = ranks[index]!;
    const linesOf = (): { grid: Grid; lines: Line[] } => {
      const grid = gridOf(job, state().axis);
      const peaksOf = (at: number): Float64Array => grid.peak.subarray(at * grid.columns, (at + 1) * grid.columns);
      const lines: Line[] = [index - 1, index + 1].filter((at) => at >= 0 && at < ranks.length).map((at) => ({ values: peaksOf(at), kind: "neighbour" }));
      return { grid, lines: [...lines, { values: valuesOf(job, grid, "peak").medians, kind: "median" }, { values: peaksOf(index), kind: "own" }] };
    };
    const surface = curve(job, index, linesOf);
    surfaces.push(surface);
    const neighbours = [ranks[index - 1], ranks[index + 1]].filter((each) => each !== undefined).map((each) => nameOf(each).replace(/^rank /, ""));
    return h("li", { class: "multiple" },
      button(nameOf(rank), () => change({ rank: keyOf(rank) }), { class: "quiet multiple-name", title: "Select this rank in the map" }),
      cut([wordsOf(rank).join(", ") || `peak ${size(rank.peak_bytes ?? 0)}`, rank.host ?? ""].filter(Boolean).join(" \u00b7 "), "muted small"),
      surface.element,
      cut(neighbours.length > 0 ? `thin lines: ${neighbours.length === 1 ? "rank" : "ranks"} ${neighbours.join(", ")}` : "", "muted small"));
  });
  return {
    element: cards.length === 0 ? null : h("section", { class: "panel" },
      h("h2", {}, "Ranks that stand out, with their neighbours"),
      h("p", { class: "legend-line" },
        h("span", { class: "legend-item" }, h("span", { class: "dash is-own" }), "the rank"),
        h("span", { class: "legend-item" }, h("span", { class: "dash is-neighbour" }), "its neighbours"),
        h("span", { class: "legend-item" }, h("span", { class: "dash is-median" }), "median of all ranks")),
      h("ul", { class: "multiples" }, ...cards)),
    draw: () => surfaces.forEach((each) => each.draw()),
    close: () => surfaces.forEach((each) => each.close()),
  };
}
