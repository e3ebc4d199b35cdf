// SPDX-License-Identifier: MIT
// The frame around the views: title, choice of recording, device and layer, navigation, theme, help.
import { drawAll } from "../chart/surface";
import { makeStrip } from "../chart/strip";
import type { Surface } from "../chart/surface";
import { change, state } from "../state/state";
import { deviceName, layerName, type Context, type View } from "../views/view";
import type { Job } from "../data/job";
import type { PageIndex } from "../data/index";
import { titleOf } from "../model/job_verdict";
import { add, button, h, replace, select } from "./dom";
import { layerMeaning } from "./meanings";
import { clean, duration } from "./format";

export interface Shell {
  view: HTMLElement;
  /** Draws the header and the navigation for what is loaded. */
  show(context: Context | null, current: View, job: Job | null): void;
  drawStrip(): void;
}

const THEMES = ["", "light", "dark"];
const THEME_TEXT: Record<string, string> = { "": "Theme: system", light: "Theme: light", dark: "Theme: dark" };

export function applyTheme(): void {
  const { theme } = state();
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  drawAll();
}

export function makeShell(root: HTMLElement, index: PageIndex, views: View[], help: () => void): Shell {
  const title = h("div", { class: "title" });
  const choices = h("div", { class: "choices" });
  const themeButton = button("", () => {
    change({ theme: THEMES[(THEMES.indexOf(state().theme) + 1) % THEMES.length]! });
  }, { class: "quiet" });
  const navigation = h("nav", { class: "tabs", "aria-label": "Views" });
  const stripBox = h("div", { class: "strip-box" });
  const view = h("main", { class: "view", id: "view", tabindex: "-1" });
  const isAlone = views.length === 1;
  if (isAlone) navigation.hidden = true;
  add(root,
    h("a", { class: "skip", href: "#view", onclick: (event: Event) => { event.preventDefault(); view.focus(); } }, "Skip to the content"),
    h("header", { class: "top" }, title, choices, h("div", { class: "tools" }, themeButton, button("Keys", help, { class: "quiet", title: "Key: ?" }))),
    h("div", { class: isAlone ? "body is-alone" : "body" }, navigation, h("div", { class: "content" }, stripBox, view)));
  let strip: Surface | null = null;
  let stripOf: unknown = null;

  const drawTitle = (context: Context | null): void => {
    const entry = context?.entry ?? index.recordings[state().recording];
    replace(title,
      h("span", { class: "title-name cut", title: entry?.title ?? "" }, entry?.title || entry?.file || "gpumemtrace"),
      entry ? h("span", { class: "muted cut title-more", title: entry.file }, `${entry.file}, ${duration(entry.duration_ns)}${entry.rank === null ? "" : `, rank ${entry.rank}`}`) : null);
    document.title = entry ? `${clean(entry.title || entry.file, 100)} \u2013 gpumemtrace` : "gpumemtrace";
  };
  const drawJobTitle = (job: Job): void => {
    const { report } = job;
    replace(title, h("span", { class: "title-name cut" }, report.ranks[0]?.program || "gpumemtrace"), h("span", { class: "muted cut title-more" }, report.job ?? ""));
    document.title = `${clean(titleOf(report), 100)} \u2013 gpumemtrace`;
  };
  const drawChoices = (context: Context | null): void => {
    replace(choices);
    if (index.recordings.length > 1) {
      add(choices, select("Recording", index.recordings.map((each, at) => ({ value: String(at), text: each.rank === null ? each.file : `rank ${each.rank}` })), String(state().recording),
        (value) => change({ recording: Number(value), device: null, layer: null, cursor: null, from: null, to: null, left: null, right: null, root: "" })));
    }
    if (!context) return;
    const devices = context.entry.devices;
    if (devices.length > 1) {
      add(choices, select("Device", devices.map((each) => ({ value: String(each.device), text: deviceName(each.device) })), String(context.deviceEntry?.device ?? ""),
        (value) => change({ device: Number(value), layer: null, root: "" })));
    }
    const layers = context.device?.layers ?? [];
    if (layers.length > 1) {
      add(choices, select("Layer", layers.map((each) => ({ value: each.name, text: layerName(each.name) })), context.layer?.name ?? "", (layer) => change({ layer, root: "" }), layerMeaning(context.layer?.name ?? "")));
    }
  };
  const drawNavigation = (context: Context | null, current: View): void => {
    replace(navigation, ...views.map((each) => {
      const badge = context && each.badge ? each.badge(context) : null;
      const tab = button("", () => change({ view: each.id }), { class: context && each.isEmpty?.(context) ? "tab is-empty" : "tab", "aria-current": each === current ? "page" : undefined, title: [each.key ? `Key: ${each.key}` : "", context && each.isEmpty?.(context) ? "nothing to show in this recording" : ""].filter(Boolean).join(", ") || undefined, "data-view": each.id });
      add(tab, h("span", { class: "tab-name" }, each.name), badge ? h("span", { class: badge.alarm ? "badge alarm" : "badge" }, badge.text) : each.key ? h("kbd", { "aria-hidden": "true" }, each.key) : null);
      return tab;
    }));
    navigation.querySelector<HTMLElement>('[aria-current="page"]')?.scrollIntoView({ block: "nearest", inline: "nearest" });
  };
  return {
    view,
    show(context, current, job) {
      if (current.mountJob && job) {
        drawJobTitle(job);
        replace(choices);
      } else {
        drawTitle(context);
        drawChoices(context);
      }
      drawNavigation(context, current);
      themeButton.textContent = THEME_TEXT[state().theme] ?? THEME_TEXT[""]!;
      const wanted = current.strip && context?.layer && context.layer.buckets > 0 ? context.layer : null;
      if (wanted !== stripOf) {
        strip?.close();
        strip = null;
        replace(stripBox);
        stripOf = wanted;
        if (wanted) {
          strip = makeStrip(context!);
          add(stripBox, strip.element);
        }
      }
      stripBox.hidden = !wanted;
    },
    drawStrip: () => strip?.draw(),
  };
}
