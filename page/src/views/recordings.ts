// SPDX-License-Identifier: MIT
// Several recordings side by side. The curve of a recording is decoded when its row comes into sight.
import { sparkline } from "../chart/sparkline";
import { loadDevice } from "../data/device";
import type { RecordingEntry } from "../data/index";
import { loadRecording } from "../data/recording";
import { change } from "../state/state";
import { add, button, cut, h, replace } from "../ui/dom";
import { count, duration, percent, plural, size } from "../ui/format";
import { bar, makeTable } from "../ui/table";
import type { Context, Mounted, View } from "./view";

interface Row {
  entry: RecordingEntry;
  number: number;
  peak: number;
  totalBytes: number;
}

function mount(box: HTMLElement, context: Context): Mounted {
  const rows: Row[] = context.index.recordings.map((entry, number) => ({
    entry, number,
    peak: Math.max(0, ...entry.devices.map((device) => device.peak_bytes)),
    totalBytes: Math.max(0, ...entry.devices.map((device) => device.total_bytes ?? 0)),
  }));
  const good = rows.filter((row) => !row.entry.error);
  const most = Math.max(1, ...good.map((row) => row.peak));
  const sorted = good.map((row) => row.peak).sort((a, b) => a - b);
  const observer = new IntersectionObserver((entries) => {
    for (const each of entries) {
      if (!each.isIntersecting) continue;
      observer.unobserve(each.target);
      void drawCurve(each.target as HTMLElement);
    }
  });
  const drawCurve = async (cell: HTMLElement): Promise<void> => {
    const number = Number(cell.dataset.recording);
    const device = rows[number]?.entry.devices.find((each) => each.packet);
    if (!device) return;
    try {
      const recording = await loadRecording(number);
      const data = await loadDevice(number, device.device, recording.durationNs);
      const layer = data.layers.find((each) => each.name === device.layer) ?? data.layers[0];
      if (layer) replace(cell, sparkline(layer.maxBytes, `Curve of ${rows[number]!.entry.file}`));
    } catch (error) {
      cell.title = (error as Error).message;
    }
  };
  const curve = (row: Row): HTMLElement => {
    const cell = h("span", { class: "spark-cell", "data-recording": row.number });
    if (!row.entry.error) observer.observe(cell);
    return cell;
  };
  if (good.length > 1) {
    const spread = sorted[sorted.length - 1]! - sorted[0]!;
    add(box, h("p", { class: "spaced-below" }, `${plural(rows.length, "recording")}. Peaks from ${size(sorted[0]!)} to ${size(sorted[sorted.length - 1]!)}${spread > 0 ? `, median ${size(sorted[Math.floor(sorted.length / 2)]!)}` : ""}.`));
  }
  const ranks = rows.some((row) => row.entry.rank !== null);
  add(box, makeTable<Row>({
    caption: "Recordings of this page",
    rows,
    sort: "number",
    limit: 200,
    columns: [
      { id: "number", name: ranks ? "Rank" : "Number", numeric: true, value: (row) => row.entry.rank ?? row.number, cell: (row) => String(row.entry.rank ?? row.number) },
      { id: "file", name: "Recording", className: "main", value: (row) => row.entry.file, cell: (row) => h("span", { class: "line-name" }, cut(row.entry.file, "code"), cut(row.entry.error ?? (row.entry.complete ? row.entry.title : `incomplete, ${row.entry.title}`), row.entry.error || !row.entry.complete ? "bad-text" : "muted")) },
      { id: "curve", name: "Over time", cell: curve },
      { id: "peak", name: "Peak", numeric: true, value: (row) => row.peak, cell: (row) => (row.entry.error ? "\u2013" : bar(size(row.peak), row.peak, most)) },
      { id: "share", name: "Of the device", numeric: true, value: (row) => row.peak / (row.totalBytes || 1), cell: (row) => (row.totalBytes && !row.entry.error ? percent(row.peak, row.totalBytes) : "\u2013") },
      { id: "leaks", name: "Leaks", numeric: true, value: (row) => row.entry.leaks, cell: (row) => (row.entry.leaks ? h("span", { class: "badge alarm" }, String(row.entry.leaks)) : "0") },
      { id: "ooms", name: "Out of memory", numeric: true, value: (row) => row.entry.ooms, cell: (row) => (row.entry.ooms ? h("span", { class: "badge alarm" }, String(row.entry.ooms)) : "0") },
      { id: "events", name: "Events", numeric: true, value: (row) => row.entry.events, cell: (row) => count(row.entry.events) },
      { id: "lasts", name: "Lasts", numeric: true, value: (row) => row.entry.duration_ns, cell: (row) => duration(row.entry.duration_ns) },
      { id: "open", name: "", cell: (row) => row.number === context.recording.number
          ? h("span", { class: "muted" }, "shown")
          : h("span", {}, row.entry.error ? null : button("Open", () => change({ recording: row.number, view: "summary", device: null, layer: null, cursor: null, from: null, to: null, left: null, right: null }), { class: "quiet" }),
              row.entry.error ? null : button("Compare", () => change({ view: "flame", other: row.number, root: "" }), { class: "quiet", title: "The difference of the flame graphs" })) },
    ],
  }));
  if (rows.length === 1) add(box, h("div", { class: "nothing spaced" }, h("p", {}, "The page has one recording. With several, this view compares their peaks and leaks, and flame graphs show their difference: "), h("code", { class: "wrap" }, "gpumemtrace report --html=job.html rank-*.gmt.gz")));
  return { close: () => observer.disconnect() };
}

export const recordings: View = {
  id: "recordings", name: "Recordings", key: "", strip: false, mount,
  isEmpty: (context) => context.index.recordings.length < 2,
  badge: (context) => (context.index.recordings.length > 1 ? { text: String(context.index.recordings.length), alarm: false } : null),
};
