// SPDX-License-Identifier: MIT
// A stack as a list, the user's own line marked, native frames folded into one row.
import type { Place, Recording, Site } from "../data/recording";
import type { Frame } from "../data/report";
import { frameLine, lineOf, shortFunction, stackOf } from "../model/names";
import { button, cut, cutPath, h, replace } from "./dom";

interface Row {
  name: string;
  full: string;
  where: string;
  kind: string;
}

function list(rows: Row[]): HTMLElement {
  const outer = h("div", { class: "stack" });
  let all = false;
  const draw = (): void => {
    const items: HTMLElement[] = [];
    let skipped = 0;
    const flushSkipped = (): void => {
      if (skipped > 0) items.push(h("li", { class: "skipped" }, `${skipped} native frame${skipped > 1 ? "s" : ""}`));
      skipped = 0;
    };
    for (const row of rows) {
      if (!all && row.kind === "native" && row.name !== rows[0]!.name) {
        skipped++;
        continue;
      }
      flushSkipped();
      items.push(h("li", { class: row.kind, title: `${row.full}  ${row.where}` }, cut(row.name, "frame-name"), cutPath(row.where, "frame-where")));
    }
    flushSkipped();
    const native = rows.some((row) => row.kind === "native");
    replace(
      outer,
      h("ol", {}, ...items),
      native ? button(all ? "Fold native frames" : "Show native frames", () => {
        all = !all;
        draw();
      }, { class: "quiet" }) : null,
    );
  };
  draw();
  return outer;
}

/** The stack of a site, the allocating call first. */
export function siteStack(recording: Recording, site: Site): HTMLElement {
  const directory = recording.report.process.directory;
  const places = stackOf(recording, site).reverse();
  const own = recording.places[site.own];
  return list(
    places.map((place: Place) => ({
      name: place.python ? place.function : shortFunction(place.function),
      full: place.function,
      where: place.file ? lineOf(place, directory) : place.module.slice(place.module.lastIndexOf("/") + 1),
      kind: place === own ? "own" : place.python ? "python" : "native",
    })),
  );
}

/** A stack of the report. */
export function frameStack(frames: Frame[], own: number | null, directory: string): HTMLElement {
  return list(
    frames.map((frame, at) => ({
      name: frame.kind === "python" ? frame.function : shortFunction(frame.function),
      full: frame.function,
      where: frame.file ? frameLine(frame, directory) : (frame.module ?? "").slice((frame.module ?? "").lastIndexOf("/") + 1),
      kind: at === own ? "own" : frame.kind,
    })),
  );
}
