// SPDX-License-Identifier: MIT
// What a view shows where nothing is live at the chosen moment, or nothing happened in the chosen range: the reason, and
// buttons that lead to moments at which there is something.
import { emptySince, lastMoment } from "../model/moments";
import { total, usesRange, weigh, type Where } from "../model/weights";
import { change, state } from "../state/state";
import { button, h, type Child } from "../ui/dom";
import { duration, size } from "../ui/format";
import { layerName } from "./view";

/** Why nothing of the layer is live at the end, in one sentence. */
export function endReason({ recording, layer }: Where): string {
  const since = emptySince(layer);
  const last = recording.steps[recording.steps.length - 1];
  if (since === null) return "";
  const after = last && since >= last.endNs ? `${duration(since - last.endNs)} after the last step` : `at ${duration(since)}`;
  return `Nothing of ${layerName(layer.name)} is live at the end: the last block was freed ${after}.${recording.places.some((place) => place.python) ? " Python frees its tensors when it ends." : ""}`;
}

function reason(where: Where, metric: string): string {
  if (metric === "left") return endReason(where) || "Nothing was live at the end.";
  if (metric === "cursor") return `Nothing of ${layerName(where.layer.name)} was live at the cursor.`;
  if (metric === "grew") return "No stack holds more at the end of this range than at its beginning.";
  if (metric === "churn") return "Nothing was both allocated and freed in this range.";
  if (usesRange(metric)) return `Nothing of ${layerName(where.layer.name)} was allocated in this range.`;
  return "Nothing was live at this moment.";
}

/** Buttons to the last moment of the work and to the peak. `show` changes the state to a metric. */
export function otherMoments(where: Where, show: (metric: string) => void, except: string): HTMLElement[] {
  const last = lastMoment(where.recording, where.layer);
  const bytes = last ? total(weigh(where, "last")) : 0;
  return [
    last && bytes > 0 && except !== "last" ? button(`${last.name.charAt(0).toUpperCase()}${last.name.slice(1)} (${size(bytes)})`, () => show("last")) : null,
    where.layer.peakBytes > 0 && except !== "peak" ? button(`At the peak (${size(where.layer.peakBytes)})`, () => show("peak")) : null,
  ].filter((each) => each !== null);
}

/** The reason why a metric has no bytes, and where there are some. */
export function emptyView(where: Where, metric: string): HTMLElement {
  const show = (next: string): void => change({ metric: next, root: "" });
  const offers: Child[] = otherMoments(where, show, metric);
  if (usesRange(metric) && state().from !== null) offers.unshift(button("The whole recording", () => change({ from: null, to: null })));
  return h("div", { class: "nothing", role: "status" }, h("p", {}, reason(where, metric)), h("div", { class: "legend-actions" }, ...offers));
}
