// SPDX-License-Identifier: MIT
// Makes elements. Text is always inserted as text, never as HTML, because names in a recording are not trusted.
import { clean } from "./format";

export type Child = Node | string | number | null | undefined | false;
type Handler = (event: never) => void;
export type Properties = Record<string, string | number | boolean | null | undefined | Handler>;

/**
 * Makes an element. A property with a function as its value is a listener; its name begins with "on". "class" and
 * "text" set the class and the text. "color" and "width" set a style. All other properties are attributes. Strings
 * among the children become text nodes.
 */
export function h(tag: string, properties: Properties = {}, ...children: Child[]): HTMLElement {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value as EventListener);
    else if (name === "class") element.className = String(value);
    else if (name === "text") element.textContent = clean(String(value));
    else if (name === "title" || name === "aria-label") element.setAttribute(name, clean(String(value)));
    else if (name === "color") element.style.setProperty("--swatch", String(value));
    else if (name === "width") element.style.width = String(value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  add(element, ...children);
  return element;
}

export function add(element: Element, ...children: Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(clean(String(child))));
  }
}

export function replace(element: Element, ...children: Child[]): void {
  element.replaceChildren();
  add(element, ...children);
}

/** Text that is cut with an ellipsis where it does not fit, and whole in its tooltip. */
export const cut = (text: string, className = ""): HTMLElement => h("span", { class: `cut ${className}`, title: text }, text);

/**
 * A path with a line. Where it does not fit, the folder loses its beginning, then the file's name its end. The line
 * number always stays.
 */
export function cutPath(text: string, className = ""): HTMLElement {
  const parts = text.length <= 1000 ? /^(.*\/)?([^/]+?)(:\d+)?$/.exec(text) : null;
  if (!parts) return cut(text, className);
  const [, folder, file, line] = parts;
  return h("span", { class: `path ${className}`, title: text },
    folder ? h("span", { class: "path-folder" }, h("bdi", { dir: "ltr" }, folder)) : null,
    h("span", { class: "path-file" }, file),
    line ? h("span", { class: "path-line" }, line) : null);
}

export function button(label: string, onclick: () => void, more: Properties = {}): HTMLButtonElement {
  return h("button", { type: "button", onclick, ...more }, label) as HTMLButtonElement;
}

/** A drop-down list with a label. */
export function select(
  label: string,
  options: { value: string; text: string }[],
  value: string,
  onchange: (value: string) => void,
  title?: string,
): HTMLElement {
  const list = h("select", { "aria-label": label, onchange: () => onchange(list.value) }) as HTMLSelectElement;
  for (const option of options) {
    list.append(h("option", { value: option.value, selected: option.value === value }, clean(option.text, 80)));
  }
  return h("label", { class: "field", title }, h("span", { class: "field-name" }, label), list);
}

/** A group of buttons of which one is pressed. */
export function choice(
  label: string,
  options: { value: string; text: string; title?: string }[],
  value: string,
  onchange: (value: string) => void,
): HTMLElement {
  return h(
    "div",
    { class: "choice", role: "group", "aria-label": label },
    ...options.map((option) =>
      button(option.text, () => onchange(option.value), {
        "aria-pressed": String(option.value === value),
        title: option.title,
      }),
    ),
  );
}

export const note = (text: string): HTMLElement => h("p", { class: "note" }, text);

/** Free memory has the colour of nothing: an outline shows it. */
export const freeSwatch = (): HTMLElement => h("span", { class: "swatch outlined", color: "var(--hole)", "aria-hidden": "true" });

export const swatch = (color: string): HTMLElement => h("span", { class: "swatch", color, "aria-hidden": "true" });
