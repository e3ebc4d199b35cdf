// SPDX-License-Identifier: MIT
// Sites added up by a line of the user's code.
import type { Layer } from "../data/device";
import type { Recording, Site } from "../data/recording";
import { bucketAt, flow, liveAtMaximum } from "./buckets";
import { lineKey, siteFunction, siteLine } from "./names";

export interface Line {
  key: string;
  name: string;
  function: string;
  sites: Site[];
  peakBytes: number;
  peakBlocks: number;
  liveBytes: number;
  liveBlocks: number;
  totalBytes: number;
  allocs: number;
  /** Words that all sites share, or the largest site's and "...". */
  category: string;
  operator: string;
  owner: string;
}

/** Joins the words of several sites: the one with most bytes first. */
function joined(sites: Site[], word: (site: Site) => string): string {
  const bytes = new Map<string, number>();
  for (const site of sites) {
    if (word(site)) bytes.set(word(site), (bytes.get(word(site)) ?? 0) + site.peakBytes * 4 + site.totalBytes / 1e6);
  }
  const order = [...bytes.entries()].sort((a, b) => b[1] - a[1]).map(([each]) => each);
  return order.length > 2 ? `${order.slice(0, 2).join(", ")}, \u2026` : order.join(", ");
}

/** The sites that the page leaves out, as one line. The recording knows only their sum over all layers. */
function otherSites(recording: Recording, layer: Layer): Site | null {
  if (layer.buckets === 0) return null;
  const made = flow(layer, 0, layer.buckets - 1, recording.sites.length);
  if (!made.allocated[0]) return null;
  const left = made.allocated[0] - made.freed[0]!;
  return {
    ...recording.sites[0]!,
    peakBytes: liveAtMaximum(layer, bucketAt(layer, layer.peakNs), recording.sites.length)[0]!,
    peakBlocks: 0, liveBytes: left, liveBlocks: 0, leftBytes: left,
    totalBytes: made.allocated[0], allocs: made.allocs[0]!, frees: made.frees[0]!,
  };
}

export function linesOf(recording: Recording, layer: Layer, device: number): Line[] {
  const others = otherSites(recording, layer);
  const sites = recording.sites.filter((site) => site.id > 0 && site.layer === layer.name && site.device === device && site.peakBytes + site.totalBytes > 0);
  if (others) sites.push(others);

  const lines = new Map<string, Line>();
  for (const site of sites) {
    const key = lineKey(recording, site);
    let line = lines.get(key);
    if (!line) {
      line = {
        key, name: siteLine(recording, site), function: siteFunction(recording, site), sites: [], peakBytes: 0, peakBlocks: 0,
        liveBytes: 0, liveBlocks: 0, totalBytes: 0, allocs: 0, category: "", operator: "", owner: "",
      };
      lines.set(key, line);
    }
    line.sites.push(site);
    line.peakBytes += site.peakBytes;
    line.peakBlocks += site.peakBlocks;
    line.liveBytes += site.liveBytes;
    line.liveBlocks += site.liveBlocks;
    line.totalBytes += site.totalBytes;
    line.allocs += site.allocs;
  }
  for (const line of lines.values()) {
    line.category = joined(line.sites, (site) => site.category);
    line.operator = joined(line.sites, (site) => site.operator);
    line.owner = joined(line.sites, (site) => site.owner);
    line.sites.sort((a, b) => b.peakBytes - a.peakBytes || b.totalBytes - a.totalBytes);
  }
  return [...lines.values()].sort((a, b) => b.peakBytes - a.peakBytes || b.totalBytes - a.totalBytes);
}

export const sumOver = (line: Line, weights: Float64Array): number => line.sites.reduce((sum, site) => sum + (weights[site.id] ?? 0), 0);
