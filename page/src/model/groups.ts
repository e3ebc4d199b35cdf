// SPDX-License-Identifier: MIT
// Divides the live bytes of a layer into groups over time: by category, line, module, owner or phase.
import type { Layer } from "../data/device";
import type { Recording } from "../data/recording";
import { colorOf, OTHER } from "../ui/palette";
import { lineKey, siteLine } from "./names";

export interface Group {
  name: string;
  /** On the theme of now. */
  readonly color: string;
  /** Bytes at the maximum of each bucket. */
  values: Float64Array;
  most: number;
}

const TOP = 15;

/** What a site belongs to: a key, and the name to show. */
export function keyOfSite(recording: Recording, by: string, number: number): [key: string, name: string] {
  const site = recording.sites[number];
  if (!site || number === 0) return ["", "sites left out"];
  const text = (value: string, missing: string): [string, string] => [value, value || missing];
  if (by === "line") return [lineKey(recording, site), siteLine(recording, site)];
  if (by === "module") return text(site.module, "outside of modules");
  if (by === "owner") return text(site.owner, "unknown");
  if (by === "part") return text(site.part, "no part");
  if (by === "operator") return text(site.operator, "no operator");
  return text(site.category, "other");
}

const cache = new WeakMap<Layer, Map<string, Group[]>>();

/** The groups of a layer, largest maximum first, at most 15 and "other". Their sum is the layer's maximum. */
export function groupsOf(recording: Recording, layer: Layer, by: string): Group[] {
  let known = cache.get(layer);
  if (!known) cache.set(layer, (known = new Map()));
  let groups = known.get(by);
  if (!groups) {
    groups = by === "phase" ? phaseGroups(layer) : siteGroups(recording, layer, by);
    known.set(by, groups);
  }
  return groups;
}

function siteGroups(recording: Recording, layer: Layer, by: string): Group[] {
  const keys = new Map<string, number>();
  const names: string[] = [];
  const groupOfSite = new Int32Array(recording.sites.length);
  for (let site = 0; site < recording.sites.length; site++) {
    const [key, name] = keyOfSite(recording, by, site);
    let number = keys.get(key);
    if (number === undefined) {
      number = names.length;
      keys.set(key, number);
      names.push(name);
    }
    groupOfSite[site] = number;
  }
  const live = new Float64Array(names.length);
  const most = new Float64Array(names.length);
  walk(layer, groupOfSite, live, () => {
    for (let i = 0; i < live.length; i++) if (live[i]! > most[i]!) most[i] = live[i]!;
  });
  const order = [...names.keys()].filter((each) => most[each]! > 0).sort((a, b) => most[b]! - most[a]!);
  const shown = order.slice(0, order.length === TOP + 1 ? TOP + 1 : TOP);
  const row = new Int32Array(names.length).fill(shown.length);
  shown.forEach((group, at) => (row[group] = at));
  const groups: Group[] = shown.map((group, at) => ({
    name: names[group]!,
    get color() {
      return colorOf(by, names[group]!, at);
    },
    values: new Float64Array(layer.buckets),
    most: most[group]!,
  }));
  if (order.length > shown.length) {
    const rest = order.length - shown.length;
    groups.push({ name: `${rest} others`, color: OTHER, values: new Float64Array(layer.buckets), most: 0 });
  }
  for (let i = 0; i < groupOfSite.length; i++) groupOfSite[i] = row[groupOfSite[i]!]!;
  const sums = new Float64Array(shown.length + 1);
  walk(layer, groupOfSite, sums, (bucket) => {
    groups.forEach((group, at) => (group.values[bucket] = sums[at]!));
  });
  return groups;
}

function walk(layer: Layer, groupOfSite: Int32Array, sums: Float64Array, each: (bucket: number) => void): void {
  for (let bucket = 0; bucket < layer.buckets; bucket++) {
    for (let i = layer.firstEntry[bucket]!; i < layer.firstEntry[bucket + 1]!; i++) {
      sums[groupOfSite[layer.entrySite[i]!] ?? 0]! += layer.entryAtMax[i]!;
    }
    each(bucket);
  }
}

function phaseGroups(layer: Layer): Group[] {
  const width = layer.phaseNames.length;
  return layer.phaseNames
    .map((name, at) => {
      const values = new Float64Array(layer.buckets);
      let most = 0;
      for (let bucket = 0; bucket < layer.buckets; bucket++) {
        values[bucket] = layer.phaseAtMax[bucket * width + at] ?? 0;
        most = Math.max(most, values[bucket]!);
      }
      return { name: name || "outside of phases", values, most };
    })
    .filter((group) => group.most > 0)
    .sort((a, b) => b.most - a.most)
    .map(({ name, values, most }, rank) => ({
      name, values, most,
      get color() {
        return colorOf("phase", name, rank);
      },
    }));
}
