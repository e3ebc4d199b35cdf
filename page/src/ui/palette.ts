// SPDX-License-Identifier: MIT
// Colours. The series can be told apart with the common kinds of colour blindness: neighbours differ in lightness.
// On the dark theme, the dark colours are lighter: each area has a contrast of at least 3 to what it lies on.

const CATEGORY: Record<string, string> = {
  parameters: "#4477aa",
  "optimizer state": "#7f4a88",
  gradients: "#e08a3c",
  activations: "#3f9d7c",
  temporaries: "#d3bf55",
  workspace: "#6cbfdc",
  inputs: "#a9ba73",
  buffers: "#8b8a3a",
  "backward results": "#df92a3",
  other: "#9aa1ab",
};

const RANKED = [
  "#4477aa",
  "#e08a3c",
  "#3f9d7c",
  "#7f4a88",
  "#d3bf55",
  "#6cbfdc",
  "#df92a3",
  "#1f5f6b",
  "#a9ba73",
  "#8a3b52",
  "#8f86c9",
  "#8b8a3a",
  "#b5764e",
  "#b9d6ea",
  "#5f6d7e",
];

export const OTHER = "#9aa1ab";

const ON_DARK: Record<string, string> = {
  "#4477aa": "#5b8fc4",
  "#7f4a88": "#a878b4",
  "#1f5f6b": "#4f9aa8",
  "#8a3b52": "#c0657f",
  "#5f6d7e": "#7f8ea1",
};

export function isDark(): boolean {
  const { theme } = document.documentElement.dataset;
  return theme ? theme === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches;
}

/**
 * The colour of row `rank` of a legend, on the theme of now; a category has the same colour in all views. Whoever keeps
 * the colour must ask again when the theme changes.
 */
export function colorOf(by: string, name: string, rank: number): string {
  const color = by === "category" && Object.hasOwn(CATEGORY, name) ? CATEGORY[name]! : RANKED[rank % RANKED.length]!;
  return (isDark() && ON_DARK[color]) || color;
}

/** Colours of the theme, read from the style sheet, for canvases. */
export interface Ink {
  text: string;
  muted: string;
  line: string;
  surface: string;
  accent: string;
  range: string;
  alarm: string;
  reserved: string;
  used: string;
  flameOwn: string;
  flamePython: string;
  flameNative: string;
  flameMatch: string;
  flameText: string;
  more: string;
  less: string;
  hole: string;
}

const NAMES: [keyof Ink, string][] = [
  ["text", "--text"],
  ["muted", "--muted"],
  ["line", "--line"],
  ["surface", "--surface"],
  ["accent", "--accent"],
  ["range", "--range"],
  ["alarm", "--alarm"],
  ["reserved", "--reserved"],
  ["used", "--used"],
  ["flameOwn", "--flame-own"],
  ["flamePython", "--flame-python"],
  ["flameNative", "--flame-native"],
  ["flameMatch", "--flame-match"],
  ["flameText", "--flame-text"],
  ["more", "--more"],
  ["less", "--less"],
  ["hole", "--hole"],
];

export function readInk(): Ink {
  const style = getComputedStyle(document.documentElement);
  const ink = {} as Ink;
  for (const [key, name] of NAMES) ink[key] = style.getPropertyValue(name).trim() || "#888";
  return ink;
}
