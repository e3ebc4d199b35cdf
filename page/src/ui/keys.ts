// SPDX-License-Identifier: MIT
// The keys of the page, and the box that lists them.
import { move, movesBySteps, stepCursor, zoom } from "../views/timeline/gestures";
import type { Context, View } from "../views/view";
import { change, state } from "../state/state";
import { button, h } from "./dom";

const KEYS: [string, string][] = [
  ["1 \u2026 9", "open a view"],
  ["r", "the ranks of the job, if the page has one"],
  ["[ and ]", "previous and next view"],
  ["/", "search or filter in this view"],
  ["\u2190 and \u2192", "move the cursor: by one step on the axis of steps"],
  ["Shift + \u2190 and \u2192", "on the axis of steps, move the cursor by ten; else move the visible part of the timeline"],
  ["+ and \u2212", "zoom the timeline around the cursor"],
  ["0", "show the whole recording"],
  ["y", "let the zoomed timeline keep its full height, or fit what is visible"],
  ["p", "put the cursor at the peak"],
  ["a and b", "begin and end the range at the cursor"],
  ["z", "zoom the timeline to the range"],
  ["Escape", "clear the range; show all frames of the flame graph"],
  ["\u2190 \u2191 \u2192 \u2193", "in the map of ranks: choose rank and step; with Shift by ten"],
  ["n and Shift + n", "in the map of ranks: the next rank that stands out, the one before"],
  ["Enter", "in the map of ranks: open the rank's own views"],
  ["t", "next theme"],
  ["?", "this list"],
];

let open: HTMLDialogElement | null = null;

export function showHelp(): void {
  if (open) return open.close();
  const dialog = h("dialog", { class: "help", "aria-label": "Keys" },
    h("h2", {}, "Keys"),
    h("table", { class: "plain" }, h("tbody", {}, ...KEYS.map(([key, text]) => h("tr", {}, h("th", { scope: "row" }, h("kbd", {}, key)), h("td", {}, text))))),
    button("Close", () => dialog.close())) as HTMLDialogElement;
  dialog.addEventListener("close", () => {
    dialog.remove();
    open = null;
  });
  document.body.append(dialog);
  dialog.showModal();
  open = dialog;
}

export function listenToKeys(views: View[], contextNow: () => Context | null): void {
  document.addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) {
      if (event.key === "Escape") target.blur();
      return;
    }
    // The browser closes the box by Escape.
    if (open && event.key !== "?") return;
    if (handle(event, views, contextNow())) event.preventDefault();
  });
}

function handle(event: KeyboardEvent, views: View[], context: Context | null): boolean {
  const { key } = event;
  const now = state();
  const byKey = views.find((view) => view.key === key);
  if (byKey) return change({ view: byKey.id }), true;
  if (key === "?") return showHelp(), true;
  if (key === "/") {
    const search = document.querySelector<HTMLInputElement>("main input[type=search]");
    search?.focus();
    return search !== null;
  }
  if (key === "[" || key === "]") {
    const at = views.findIndex((view) => view.id === now.view) + (key === "]" ? 1 : -1);
    return change({ view: views[(at + views.length) % views.length]!.id }), true;
  }
  if (key === "t") return change({ theme: now.theme === "dark" ? "light" : "dark" }), true;
  if (!context?.layer) return false;
  const cursor = now.cursor ?? context.layer.peakNs;
  switch (key) {
    case "ArrowLeft":
    case "ArrowRight": {
      const direction = key === "ArrowLeft" ? -1 : 1;
      if (movesBySteps(context)) stepCursor(context, direction * (event.shiftKey ? 10 : 1));
      else if (event.shiftKey) move(context, direction * 0.2);
      else stepCursor(context, direction);
      return true;
    }
    case "+":
    case "=":
      return zoom(context, cursor, 0.5), true;
    case "-":
      return zoom(context, cursor, 2), true;
    case "0":
      return change({ left: null, right: null }), true;
    case "y":
      return change({ scale: now.scale === "full" ? "" : "full" }), true;
    case "p":
      return change({ cursor: context.layer.peakNs }), true;
    case "a":
      return change({ from: Math.min(cursor, now.to ?? context.recording.durationNs), to: now.to ?? context.recording.durationNs }), true;
    case "b":
      return change({ to: Math.max(cursor, now.from ?? 0), from: now.from ?? 0 }), true;
    case "z":
      if (now.from !== null) change({ left: now.from, right: now.to });
      return true;
    case "Escape":
      change(now.root ? { root: "" } : { from: null, to: null });
      return true;
    default:
      return false;
  }
}
