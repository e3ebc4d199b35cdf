// SPDX-License-Identifier: MIT
// Names of places and sites, as people read them.
import type { Place, Recording, Site } from "../data/recording";
import type { Frame } from "../data/report";

/** A path without the working directory, or without the folder of Python's packages. */
export function shortPath(path: string, directory = ""): string {
  if (directory && path.startsWith(`${directory}/`)) return path.slice(directory.length + 1);
  const packages = Math.max(path.lastIndexOf("/site-packages/"), path.lastIndexOf("/dist-packages/"));
  if (packages >= 0) return path.slice(packages + "/site-packages/".length);
  return path;
}

export const fileName = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

/** "train.py:54", or the function where the place has no line. */
export function lineOf(place: Place | undefined, directory: string): string {
  if (!place) return "without a stack";
  if (!place.file) return place.function || fileName(place.module) || "unknown";
  const path = shortPath(place.file, directory);
  return place.line ? `${path}:${place.line}` : path;
}

export function frameLine(frame: Frame | undefined, directory: string): string {
  if (!frame) return "without a stack";
  if (!frame.file) return frame.function;
  const path = shortPath(frame.file, directory);
  return frame.line ? `${path}:${frame.line}` : path;
}

/** The key under which sites of one line are added up. */
export function lineKey(recording: Recording, site: Site): string {
  if (site.id === 0) return "all other sites";
  const place = recording.places[site.own >= 0 ? site.own : recording.nodePlace[site.node]!];
  if (!place) return "without a stack";
  return place.file ? `${place.file}:${place.line}` : place.function;
}

/** The same key of a frame of the report. */
export function frameKey(frame: Frame | undefined): string {
  if (!frame) return "without a stack";
  return frame.file ? `${frame.file}:${frame.line ?? 0}` : frame.function;
}

export function siteLine(recording: Recording, site: Site): string {
  if (site.id === 0) return "all other sites";
  const place = recording.places[site.own >= 0 ? site.own : recording.nodePlace[site.node]!];
  return site.node === 0 ? "without a stack" : lineOf(place, recording.report.process.directory);
}

export function siteFunction(recording: Recording, site: Site): string {
  const place = site.own >= 0 ? recording.places[site.own] : undefined;
  return place?.file ? place.function : "";
}

/** Places of a site's stack, outermost first. */
export function stackOf(recording: Recording, site: Site): Place[] {
  const out: Place[] = [];
  for (let node = site.node; node > 0; node = recording.nodeParent[node]!) {
    const place = recording.places[recording.nodePlace[node]!];
    if (place) out.push(place);
    if (out.length > 4096) break;
  }
  return out.reverse();
}

/** A native function without its parameters and template arguments. */
export function shortFunction(name: string): string {
  if (name.length > 4000) return name.slice(0, 120);
  let out = "";
  let depth = 0;
  for (let i = 0; i < name.length; i++) {
    const letter = name[i]!;
    if (letter === "<" && i > 0 && /[\w]/.test(name[i - 1]!) && !name.slice(0, i).endsWith("operator")) depth++;
    else if (letter === ">" && depth > 0) depth--;
    else if (depth === 0) {
      if (letter === "(" && i > 0 && !name.startsWith("(anonymous", i)) break;
      out += letter;
    }
  }
  return out.replace("(anonymous namespace)::", "").replace(/^(void|bool|int) /, "") || name;
}
