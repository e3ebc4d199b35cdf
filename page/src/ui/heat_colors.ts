// SPDX-License-Identifier: MIT
// The colours of the map of ranks. One hue that changes its lightness, or blue and orange on both sides of a neutral
// colour: both can be read with the common kinds of colour blindness.
import { isDark } from "./palette";

type Color = readonly [number, number, number];
type Stops = readonly Color[];

const rgb = (hex: number): Color => [hex >> 16, (hex >> 8) & 255, hex & 255];
const SCALES: Record<string, Stops> = {
  "size light": [0xe3ebf5, 0x9dbfe3, 0x4f8ac6, 0x1f5a97, 0x0a2a52].map(rgb),
  "size dark": [0x22303f, 0x2b5680, 0x4787c4, 0x8fbcf0, 0xeaf4ff].map(rgb),
  "change light": [0x0d3f75, 0x5d96d0, 0xeef0f2, 0xe39a55, 0x8a3f06].map(rgb),
  "change dark": [0xa9d0ff, 0x4d86c4, 0x2b3038, 0xc97a35, 0xffd09c].map(rgb),
};

const STEPS = 256;
const made = new Map<string, Uint32Array>();

/** The colours of a scale, from its low end to its high end, as pixels of an image. */
export function heatColors(signed: boolean): Uint32Array {
  const name = `${signed ? "change" : "size"} ${isDark() ? "dark" : "light"}`;
  let colors = made.get(name);
  if (colors) return colors;
  const stops = SCALES[name]!;
  colors = new Uint32Array(STEPS);
  for (let i = 0; i < STEPS; i++) {
    const at = (i / (STEPS - 1)) * (stops.length - 1);
    const left = Math.min(stops.length - 2, Math.floor(at));
    const part = at - left;
    const [r, g, b] = stops[left]!.map((value, channel) => Math.round(value + (stops[left + 1]![channel]! - value) * part)) as unknown as Color;
    // The bytes of a pixel are red, green, blue, alpha; all processors with browsers are little-endian.
    colors[i] = ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
  }
  made.set(name, colors);
  return colors;
}

/** The colour of a place on the scale, 0 to 1. */
export const heatColor = (colors: Uint32Array, place: number): number => colors[Math.round(place * (STEPS - 1))]!;
