// SPDX-License-Identifier: MIT
// What a view is given, and what it gives back.
import type { Device, Layer } from "../data/device";
import type { DeviceEntry, PageIndex, RecordingEntry } from "../data/index";
import type { Job } from "../data/job";
import type { Recording } from "../data/recording";
import type { DeviceReport, LayerReport, Peak } from "../data/report";
import type { Where } from "../model/weights";
import { state, type Changed } from "../state/state";

export interface Context {
  index: PageIndex;
  entry: RecordingEntry;
  deviceEntry: DeviceEntry | null;
  recording: Recording;
  device: Device | null;
  layer: Layer | null;
}

export interface Mounted {
  /** The state has changed in the same recording, device and layer. */
  update?(changed: Changed): void;
  close?(): void;
}

export interface View {
  id: string;
  name: string;
  /** The key that opens the view, if it has one. */
  key: string;
  /** Whether the curve with cursor and range stands above the view. */
  strip: boolean;
  /** A number next to the view's name, or null. */
  badge?(context: Context): { text: string; alarm: boolean } | null;
  /** Whether the view has nothing to show. Its tab is then less prominent. */
  isEmpty?(context: Context): boolean;
  mount(box: HTMLElement, context: Context): Mounted | void;
  /** Shows the job of the page. Such a view needs no recording. */
  mountJob?(box: HTMLElement, job: Job): Mounted;
}

/** The moment and range that the views share, or null if the recording has no blocks. */
export function whereOf(context: Context): Where | null {
  const { recording, device, layer } = context;
  if (!device || !layer) return null;
  const { cursor, from, to } = state();
  return { recording, device, layer, cursor, from, to };
}

export const deviceReport = (context: Context): DeviceReport | undefined =>
  context.recording.report.devices.find((each) => each.device === context.device?.device);

export function layerReport(context: Context): LayerReport | undefined {
  // The report's host is pinned memory of CUDA; it names no layer.
  if (context.device?.device === -1) return { ...context.recording.report.host, layer: "cuda" };
  return deviceReport(context)?.layers.find((each) => each.layer === context.layer?.name);
}

/** The device's number as the report writes it: null for the host. */
export const deviceNumber = (context: Context): number | null => (context.device && context.device.device >= 0 ? context.device.device : null);

export const peakReport = (context: Context): Peak | undefined =>
  context.recording.report.peaks.find((peak) => peak.layer === context.layer?.name && peak.device === deviceNumber(context));

export const layerName = (layer: string): string =>
  ({ torch: "PyTorch", cuda: "CUDA", driver: "driver", custom: "program's pools", imported: "imported" })[layer] ?? layer;

export const deviceName = (device: number): string => (device < 0 ? "host" : `GPU ${device}`);
