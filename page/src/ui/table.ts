// SPDX-License-Identifier: MIT
// A table that sorts by its columns and shows the first rows until all are asked for. On narrow screens each row is a
// card; where columns are out of sight, a line below the table says so.
import { button, h, replace, select, type Child } from "./dom";
import { count } from "./format";

export interface Column<Row> {
  id: string;
  name: string;
  title?: string;
  numeric?: boolean;
  /** The value to sort by. A column without it does not sort. */
  value?: (row: Row) => number | string;
  cell: (row: Row) => Child;
  className?: string;
  /** On a card, the cell has a row of its own. */
  wide?: boolean;
}

export interface TableOptions<Row> {
  caption: string;
  columns: Column<Row>[];
  rows: Row[];
  sort: string; // "-peak": falling by column peak
  onsort?: (sort: string) => void;
  /** What a row shows below itself when it is opened. */
  detail?: (row: Row) => Child;
  /** What the detail is; by default "the stacks". */
  detailName?: string;
  key?: (row: Row) => string;
  opened?: string;
  onopen?: (key: string) => void;
  limit?: number;
  empty?: string;
}

export function makeTable<Row>(options: TableOptions<Row>): HTMLElement {
  let { sort } = options;
  let limit = options.limit ?? 100;
  const outer = h("div", { class: "table-box" });
  const draw = (): void => {
    const falls = sort.startsWith("-");
    const by = options.columns.find((column) => column.id === sort.replace(/^-/, ""));
    const rows = [...options.rows];
    if (by?.value) {
      const value = by.value;
      rows.sort((a, b) => {
        const [x, y] = [value(a), value(b)];
        const order = typeof x === "number" && typeof y === "number" ? x - y : String(x) < String(y) ? -1 : String(x) > String(y) ? 1 : 0;
        return falls ? -order : order;
      });
    }
    const head = h(
      "tr",
      {},
      ...options.columns.map((column) => {
        const is = by === column;
        const sorted = is ? (falls ? "descending" : "ascending") : undefined;
        const label = column.value
          ? button(column.name, () => {
              sort = is ? (falls ? column.id : `-${column.id}`) : column.numeric ? `-${column.id}` : column.id;
              options.onsort?.(sort);
              draw();
            }, { class: "sort", title: column.title })
          : h("span", { title: column.title }, column.name);
        return h("th", { scope: "col", class: column.numeric ? "number" : "", "aria-sort": sorted }, label);
      }),
    );
    const body = h("tbody");
    for (const row of rows.slice(0, limit)) addRow(body, row);
    const table = h("table", { class: "as-cards" }, h("caption", { class: "hidden-text" }, options.caption), h("thead", {}, head), body);
    const more = rows.length - limit;
    const scroller = h("div", { class: "scroll-x", tabindex: "0", role: "region", "aria-label": options.caption }, table);
    replace(
      outer,
      sorter(),
      scroller,
      scrollHint(scroller),
      rows.length === 0 ? h("p", { class: "note" }, options.empty ?? "No rows.") : null,
      more > 0
        ? button(`Show ${count(Math.min(more, 1000))} more of ${count(more)}`, () => {
            limit += 1000;
            draw();
          }, { class: "more" })
        : null,
    );
  };
  /** On narrow screens the heads of the columns are hidden: this list sorts instead. */
  const sorter = (): HTMLElement | null => {
    const choices = options.columns.filter((column) => column.value !== undefined);
    if (options.rows.length < 2 || choices.length < 2) return null;
    const list = select("Sort by", choices.map((column) => ({ value: column.numeric ? `-${column.id}` : column.id, text: column.name })), sort, (to) => {
      sort = to;
      options.onsort?.(sort);
      draw();
    });
    list.classList.add("table-sort");
    return list;
  };
  const addRow = (body: HTMLElement, row: Row): void => {
    const key = options.key?.(row) ?? "";
    const open = options.detail !== undefined && key !== "" && key === options.opened;
    const line = h("tr", { class: options.detail ? (open ? "opens open" : "opens") : "" });
    options.columns.forEach((column, at) => {
      const child = column.cell(row);
      const className = `${column.numeric ? "number" : ""} ${column.className ?? ""}`;
      if (at === 0 && options.detail) {
        const toggle = button("", () => {
          options.opened = open ? "" : key;
          options.onopen?.(options.opened);
          draw();
        }, { class: "toggle", "aria-expanded": String(open), "aria-label": `${open ? "Hide" : "Show"} ${options.detailName ?? "the stacks"}` });
        line.append(h("td", { class: `${className} first` }, h("span", { class: "with-toggle" }, toggle, child)));
      } else {
        line.append(h("td", { class: `${className}${at === 0 ? " first" : ""}${column.wide ? " wide-cell" : ""}`, "data-label": at === 0 || !column.name ? undefined : column.name }, child));
      }
    });
    if (options.detail) {
      line.addEventListener("click", (event) => {
        if ((event.target as Element).closest("button, a, input") || getSelection()?.toString()) return;
        line.querySelector<HTMLButtonElement>(".toggle")?.click();
      });
    }
    body.append(line);
    if (open && options.detail) body.append(h("tr", { class: "detail" }, h("td", { colspan: options.columns.length }, options.detail(row))));
  };
  draw();
  return outer;
}

/** Says that a box has more columns to its right. Hidden while there are none. */
export function scrollHint(scroller: HTMLElement): HTMLElement {
  const hint = button("More columns: scroll to the right", () => scroller.scrollBy({ left: scroller.clientWidth * 0.7 }), { class: "scroll-hint", "aria-hidden": "true", tabindex: "-1", hidden: true });
  const check = (): void => {
    hint.hidden = scroller.scrollWidth - scroller.clientWidth - scroller.scrollLeft < 8;
  };
  scroller.addEventListener("scroll", check, { passive: true });
  new ResizeObserver(check).observe(scroller);
  return hint;
}

/** A number with a bar that shows its share of the largest one. */
export const bar = (text: string, value: number, most: number, title?: string): HTMLElement =>
  h(
    "span",
    { class: "bar", title },
    h("span", { class: "bar-fill", width: `${most > 0 ? Math.max(0, Math.min(100, (value / most) * 100)) : 0}%` }),
    h("span", { class: "bar-text" }, text),
  );
