// SPDX-License-Identifier: MIT
// Single blocks as boxes: lifetime by size, at a height where nothing else is, or lifetime by address.
import { pixelOf } from "../../chart/columns";
import { FONT, fitText, type Drawing } from "../../chart/surface";
import type { Device } from "../../data/device";
import { keyOfSite } from "../../model/groups";
import type { Group } from "../../model/groups";
import type { Recording } from "../../data/recording";
import { fileName } from "../../model/names";
import { OTHER } from "../../ui/palette";
import type { Plot } from "./paint";

export interface PlacedBlock {
  block: number;
  begin: number;
  end: number;
  low: number;
  high: number;
}

export interface Placed {
  blocks: PlacedBlock[];
  most: number;
}

const cache = new WeakMap<Device, Map<string, Placed>>();

/** Gives each block of a layer its place. In mode "blocks" the height is free; in "addresses" it is the address. */
export function placeBlocks(device: Device, layer: number, mode: string): Placed {
  let known = cache.get(device);
  if (!known) cache.set(device, (known = new Map()));
  const key = `${mode}${layer}`;
  let placed = known.get(key);
  if (!placed) known.set(key, (placed = mode === "blocks" ? pile(device, layer) : byAddress(device, layer)));
  return placed;
}

function members(device: Device, layer: number): number[] {
  const out = [];
  for (let i = 0; i < device.blocks.count; i++) if (device.blocks.layer[i] === layer) out.push(i);
  return out;
}

const endOf = (device: Device, block: number): number => {
  const end = device.blocks.endNs[block]!;
  return end < 0 ? device.durationNs : end;
};

/** First fit: blocks that live long lie low, as they were there first. */
function pile(device: Device, layer: number): Placed {
  const live: PlacedBlock[] = []; // sorted by `low`
  const blocks: PlacedBlock[] = [];
  let most = 0;
  for (const block of members(device, layer)) {
    const begin = device.blocks.beginNs[block]!;
    const bytes = device.blocks.bytes[block]!;
    let kept = 0;
    for (const each of live) if (each.end > begin) live[kept++] = each;
    live.length = kept;
    let low = 0;
    let at = 0;
    for (; at < live.length; at++) {
      if (live[at]!.low - low >= bytes) break;
      low = Math.max(low, live[at]!.high);
    }
    const placed = { block, begin, end: endOf(device, block), low, high: low + bytes };
    live.splice(at, 0, placed);
    blocks.push(placed);
    most = Math.max(most, placed.high);
  }
  return { blocks, most };
}

/** Addresses without the gaps between segments: only ranges that a block uses have a height. */
function byAddress(device: Device, layer: number): Placed {
  const all = members(device, layer).map((block) => ({
    block,
    low: device.blocks.address[block]! * 256,
    high: device.blocks.address[block]! * 256 + device.blocks.bytes[block]!,
  }));
  const sorted = [...all].sort((a, b) => a.low - b.low);
  const ranges: { low: number; high: number; at: number }[] = [];
  for (const each of sorted) {
    const last = ranges[ranges.length - 1];
    if (last && each.low <= last.high + (1 << 20)) last.high = Math.max(last.high, each.high);
    else ranges.push({ low: each.low, high: each.high, at: 0 });
  }
  let most = 0;
  for (const range of ranges) {
    range.at = most;
    most += range.high - range.low;
  }
  const shift = new Map<number, number>();
  let at = 0;
  for (const each of sorted) {
    while (ranges[at]!.high < each.low) at++;
    shift.set(each.block, ranges[at]!.at - ranges[at]!.low);
  }
  const blocks = all.map(({ block, low, high }) => ({
    block,
    begin: device.blocks.beginNs[block]!,
    end: endOf(device, block),
    low: low + shift.get(block)!,
    high: high + shift.get(block)!,
  }));
  return { blocks, most };
}

/** The colour of each site, from the legend's groups. */
export function siteColors(recording: Recording, by: string, groups: Group[]): string[] {
  const colors = new Map(groups.map((group) => [group.name, group.color]));
  return recording.sites.map((site) => colors.get(keyOfSite(recording, by, site.id)[1]) ?? OTHER);
}

/** The top of the highest block that lives between two moments. */
export function highest(placed: Placed, left: number, right: number): number {
  let most = 1;
  for (const each of placed.blocks) if (each.end >= left && each.begin <= right && each.high > most) most = each.high;
  return most;
}

export function paintBlocks({ context: c, ink }: Drawing, plot: Plot, recording: Recording, device: Device, placed: Placed, colors: string[]): void {
  const { range } = plot;
  c.font = FONT;
  c.textBaseline = "middle";
  c.textAlign = "left";
  c.strokeStyle = ink.surface;
  c.lineWidth = 0.75;
  for (const each of placed.blocks) {
    if (each.end < range.left || each.begin > range.right) continue;
    const x = pixelOf(range, Math.max(range.left, each.begin));
    const right = pixelOf(range, Math.min(range.right, each.end));
    const [y, bottom] = [plot.y(each.high), plot.y(each.low)];
    const site = device.blocks.site[each.block]!;
    const [w, k] = [Math.max(0.5, right - x), Math.max(0.5, bottom - y)];
    c.fillStyle = colors[site] ?? OTHER;
    c.fillRect(x, y, w, k);
    if (w > 3 && k > 3) c.strokeRect(x, y, w, k);
    if (w > 60 && k > 15) {
      c.fillStyle = "#10141a";
      c.fillText(fitText(c, fileName(keyOfSite(recording, "line", site)[1]), w - 10), x + 5, y + k / 2);
    }
  }
}

export function blockAt(placed: Placed, ns: number, height: number): PlacedBlock | null {
  let found: PlacedBlock | null = null;
  for (const each of placed.blocks) {
    if (each.begin <= ns && ns < each.end && each.low <= height && height < each.high) found = each;
  }
  return found;
}
