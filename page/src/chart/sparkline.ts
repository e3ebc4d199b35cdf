// SPDX-License-Identifier: MIT
// A small curve without axes, for table rows and cards.
import { h } from "../ui/dom";

const NS = "http://www.w3.org/2000/svg";

/** Makes a filled curve of the values, the largest of each of `width` columns. */
export function sparkline(values: ArrayLike<number>, label: string, width = 96, height = 22): HTMLElement {
  const count = values.length;
  let most = 0;
  for (let i = 0; i < count; i++) most = Math.max(most, values[i]!);
  const columns = Math.max(1, Math.min(width, count));
  let line = "";
  for (let column = 0; column < columns; column++) {
    const first = Math.floor((column * count) / columns);
    const end = Math.max(first + 1, Math.floor(((column + 1) * count) / columns));
    let value = 0;
    for (let i = first; i < end && i < count; i++) value = Math.max(value, values[i]!);
    const x = columns > 1 ? (column / (columns - 1)) * width : 0;
    const y = height - 1 - (most > 0 ? (value / most) * (height - 2) : 0);
    line += `${column ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`;
  }
  if (count === 1) line += `L${width} ${line.split(" ")[1]}`;
  const svg = document.createElementNS(NS, "svg");
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("preserveAspectRatio", "none");
  const area = document.createElementNS(NS, "path");
  area.setAttribute("class", "spark-area");
  area.setAttribute("d", `${line}L${width} ${height}L0 ${height}Z`);
  const top = document.createElementNS(NS, "path");
  top.setAttribute("class", "spark-line");
  top.setAttribute("d", line);
  svg.append(area, top);
  return h("span", { class: "spark", role: "img", "aria-label": label }, svg);
}
