// SPDX-License-Identifier: MIT
// The index of the page: which recordings and devices it has, before any packet is decoded.

export interface DeviceEntry {
  device: number;
  name: string | null;
  total_bytes: number | null;
  layer: string | null;
  peak_bytes: number;
  packet: boolean;
}

export interface RecordingEntry {
  file: string;
  title: string;
  host: string | null;
  pid: number | null;
  rank: number | null;
  complete: boolean;
  duration_ns: number;
  events: number;
  leaks: number;
  ooms: number;
  error: string | null;
  devices: DeviceEntry[];
}

export interface PageIndex {
  schema: string;
  made_by: string;
  recordings: RecordingEntry[];
}

/** Returns the text of a data element, or null if the page lacks it. */
export function elementText(id: string): string | null {
  return document.getElementById(id)?.textContent ?? null;
}

export function readIndex(): PageIndex | null {
  const text = elementText("index");
  if (text === null) return null;
  const index = JSON.parse(text) as PageIndex;
  if (!/^gpumemtrace\.page\/1$/.test(index.schema)) throw new Error(`the page's data has the unknown schema ${index.schema}`);
  return index;
}
