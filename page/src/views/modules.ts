// SPDX-License-Identifier: MIT
// The tree of the model's modules, with parameters, gradients, optimizer state and activations.
import { modulesOf, type ModuleNode } from "../model/modules";
import { lastMoment } from "../model/moments";
import { describe, total, weigh } from "../model/weights";
import { change, state } from "../state/state";
import { add, button, choice, cut, h, note, replace } from "../ui/dom";
import { size } from "../ui/format";
import { categoryMeaning } from "../ui/meanings";
import { bar, scrollHint } from "../ui/table";
import { emptyView } from "./empty_view";
import { whereOf, type Context, type Mounted, type View } from "./view";

const COLUMNS = ["parameters", "gradients", "optimizer state", "activations"];

function mount(box: HTMLElement, context: Context): Mounted {
  if (!whereOf(context)) {
    add(box, note("Nothing was allocated here."));
    return {};
  }
  const open = new Set<string>();
  const controls = h("div", { class: "controls" });
  const table = h("div");
  let opened = false;
  const metric = (): string => (["cursor", "last", "left"].includes(state().metric) ? state().metric : "peak");
  const lastName = (): string => {
    const { name } = lastMoment(context.recording, context.layer!) ?? { name: "at the end of the work" };
    return name.charAt(0).toUpperCase() + name.slice(1);
  };
  const draw = (): void => {
    const where = whereOf(context)!;
    const weights = weigh(where, metric());
    const root = modulesOf(context.recording, weights);
    if (!opened) {
      opened = true;
      // Open the levels that have one module only, and the first one with several.
      for (let node: ModuleNode | undefined = root; node; ) {
        const next: ModuleNode[] = [...node.children.values()].filter((child) => child.children.size > 0);
        node = next.length === 1 ? next[0] : undefined;
        if (node) open.add(node.path);
      }
    }
    replace(controls, choice("Moment", [{ value: "peak", text: "At the peak" }, { value: "cursor", text: "At the cursor" }, { value: "last", text: lastName() }, { value: "left", text: "At the end" }], metric(), (value) => change({ metric: value })), h("span", { class: "muted small" }, describe(where, metric())));
    const whole = total(weights);
    const body = h("tbody");
    const row = (node: ModuleNode, depth: number): void => {
      const children = [...node.children.values()].sort((a, b) => b.bytes - a.bytes);
      const is = open.has(node.path);
      const rest = node.bytes - COLUMNS.reduce((sum, name) => sum + (node.byCategory.get(name) ?? 0), 0);
      const toggle = button("", () => {
        if (is) open.delete(node.path);
        else open.add(node.path);
        draw();
        table.querySelector<HTMLElement>(`[data-path="${CSS.escape(node.path)}"]`)?.focus();
      }, { class: "toggle", "aria-expanded": String(is), "aria-label": `${is ? "Close" : "Open"} ${node.name}`, "data-path": node.path });
      const name = h("span", { class: "tree-name" }, children.length > 0 ? toggle : h("span", { class: "no-toggle" }), cut(node.name, "code"));
      name.style.paddingLeft = `${Math.min(depth, 12) * 18}px`;
      body.append(h("tr", {}, h("th", { scope: "row", class: "main row-head" }, name), h("td", { class: "number" }, bar(size(node.bytes), node.bytes, whole)),
        ...COLUMNS.map((each) => h("td", { class: "number" }, node.byCategory.has(each) ? size(node.byCategory.get(each)!) : "\u2013")), h("td", { class: "number" }, rest > 0 ? size(rest) : "\u2013")));
      if (is) for (const child of children.slice(0, 500)) row(child, depth + 1);
    };
    for (const child of [...root.children.values()].sort((a, b) => b.bytes - a.bytes)) row(child, 0);
    const scroller = h("div", { class: "scroll-x", tabindex: "0", role: "region", "aria-label": "Modules" }, h("table", {},
      h("caption", { class: "hidden-text" }, "Memory of modules by category"),
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Module"), ...["All", ...COLUMNS, "other"].map((name) => h("th", { scope: "col", class: "number", title: name === "other" ? "All other categories" : categoryMeaning(name) }, name)))), body));
    replace(table,
      root.children.size === 0
        ? emptyView(where, metric())
        : h("div", { class: "table-box" }, scroller, scrollHint(scroller)),
      root.children.get("outside of modules")?.byCategory.has("parameters")
        ? h("p", { class: "note spaced" }, "Parameters outside of modules: the recorder did not learn which module holds them. It asks modules for their tensors at an optimizer's steps, and when Python ends.")
        : null);
  };
  add(box, controls, table);
  draw();
  return {
    update(changed) {
      if (changed.has("metric") || (changed.has("cursor") && metric() === "cursor")) draw();
    },
  };
}

export const modules: View = { id: "modules", name: "Modules", key: "", strip: true, mount };
