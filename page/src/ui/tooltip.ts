// SPDX-License-Identifier: MIT
// One box that follows the pointer. It never takes the focus, and it stays inside the window.
import { add, h, type Child } from "./dom";

let box: HTMLElement | null = null;

export function showTip(x: number, y: number, ...children: Child[]): void {
  if (!box) {
    box = h("div", { class: "tip", role: "status" });
    document.body.append(box);
  }
  box.replaceChildren();
  add(box, ...children);
  box.style.display = "block";
  const { offsetWidth: width, offsetHeight: height } = box;
  const right = x + 16 + width > window.innerWidth;
  const left = right ? Math.max(8, x - 16 - width) : x + 16;
  const top = Math.min(Math.max(8, y + 16), Math.max(8, window.innerHeight - height - 8));
  box.style.left = `${left}px`;
  box.style.top = `${top}px`;
}

export function hideTip(): void {
  if (box) box.style.display = "none";
}

/** A row of a tooltip: a name and its value. */
export const tipRow = (name: Child, value: string, color?: string): HTMLElement =>
  h(
    "div",
    { class: "tip-row" },
    color ? h("span", { class: "swatch", color }) : null,
    h("span", { class: "tip-name" }, name),
    h("span", { class: "tip-value" }, value),
  );
