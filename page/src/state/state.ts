// SPDX-License-Identifier: MIT
// The state of the page. All of it is in the URL's hash, so a link or a bookmark shows the same picture.

export interface State {
  view: string;
  recording: number;
  device: number | null;
  layer: string | null;
  axis: string; // auto, time, step, event
  by: string; // what the timeline stacks by
  mode: string; // stack, blocks, addresses
  cursor: number | null; // ns
  from: number | null; // brushed range, ns
  to: number | null;
  left: number | null; // zoom of the timeline, ns
  right: number | null;
  scale: string; // "": the vertical axis fits what is visible, full: it keeps its full height
  lines: string; // curves that the timeline draws: letters r(eserved), u(sed), c(apacity)
  metric: string; // what the flame graph shows
  frames: string; // auto, all, python, native, own
  inverted: boolean;
  search: string;
  root: string; // path of the frame that the flame graph is zoomed to
  other: number | null; // second recording of a difference
  sort: string;
  filter: string;
  selected: string;
  theme: string; // "", light, dark
  show: string; // what the map of ranks shows
  order: string; // by what its rows are ordered
  zoom: number; // height of a row in pixels; 0: all rows fit
  rank: string; // key of the selected rank
  step: number | null; // first step or nanosecond of the selected column
}

const DEFAULTS: State = {
  view: "summary",
  recording: 0,
  device: null,
  layer: null,
  axis: "auto",
  by: "category",
  mode: "stack",
  cursor: null,
  from: null,
  to: null,
  left: null,
  right: null,
  scale: "",
  lines: "r",
  metric: "peak",
  frames: "auto",
  inverted: false,
  search: "",
  root: "",
  other: null,
  sort: "",
  filter: "",
  selected: "",
  theme: "",
  show: "peak",
  order: "rank",
  zoom: 0,
  rank: "",
  step: null,
};

type Key = keyof State;
const KEYS = Object.keys(DEFAULTS) as Key[];
const NUMBERS: ReadonlySet<Key> = new Set<Key>(["recording", "device", "cursor", "from", "to", "left", "right", "other", "zoom", "step"]);

export function parseHash(hash: string): State {
  const state: Record<string, unknown> = { ...DEFAULTS };
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  for (const key of KEYS) {
    const text = given.get(key);
    if (text === null) continue;
    if (NUMBERS.has(key)) {
      const value = Number(text);
      if (Number.isFinite(value)) state[key] = value;
    } else if (key === "inverted") {
      state[key] = text === "true";
    } else {
      state[key] = text;
    }
  }
  return state as unknown as State;
}

export function formatHash(state: State): string {
  const out = new URLSearchParams();
  for (const key of KEYS) {
    const value = state[key];
    if (value !== DEFAULTS[key] && value !== null) out.set(key, typeof value === "number" ? String(Math.round(value)) : String(value));
  }
  return `#${out.toString()}`;
}

export type Changed = ReadonlySet<Key>;
type Listener = (changed: Changed) => void;

let current = parseHash(location.hash);
let written = "";
const listeners: Listener[] = [];
let pending: Set<Key> | null = null;
let push = false;

export const state = (): Readonly<State> => current;

/** Sets the view that the page shows if the URL names none. */
export function setFirstView(view: string): void {
  const isGiven = new URLSearchParams(location.hash.replace(/^#/, "")).has("view");
  DEFAULTS.view = view;
  if (!isGiven) current = { ...current, view };
}

/** Changes the state. Listeners run once in the next frame. A new view or recording is a step that "Back" undoes. */
export function change(patch: Partial<State>): void {
  const changed: Key[] = [];
  for (const key of Object.keys(patch) as Key[]) {
    if (current[key] !== patch[key]) changed.push(key);
  }
  if (changed.length === 0) return;
  current = { ...current, ...patch };
  announce(changed);
}

function announce(changed: Iterable<Key>): void {
  if (!pending) {
    pending = new Set();
    requestAnimationFrame(flush);
  }
  for (const key of changed) {
    pending.add(key);
    if (key === "view" || key === "recording") push = true;
  }
}

function flush(): void {
  const changed = pending ?? new Set<Key>();
  pending = null;
  writeSoon();
  for (const listener of listeners) listener(changed);
}

let timer = 0;

function writeSoon(): void {
  if (push) {
    push = false;
    window.clearTimeout(timer);
    write(true);
    return;
  }
  // Browsers refuse more than some hundred changes of the URL in ten seconds.
  window.clearTimeout(timer);
  timer = window.setTimeout(() => write(false), 200);
}

/** In a frame of a notebook, the page has no URL of its own (about:srcdoc): a browser refuses to change it. */
const hasUrl = location.protocol !== "about:";

function write(step: boolean): void {
  if (!hasUrl) return;
  const hash = formatHash(current);
  if (hash === written) return;
  written = hash;
  if (step) history.pushState(null, "", hash);
  else history.replaceState(null, "", hash);
}

export function listen(listener: Listener): void {
  listeners.push(listener);
}

function readAgain(): void {
  if (location.hash === written) return;
  written = location.hash;
  const next = parseHash(location.hash);
  const changed = KEYS.filter((key) => next[key] !== current[key]);
  current = next;
  if (changed.length > 0) announce(changed);
  push = false;
}

window.addEventListener("hashchange", readAgain);
window.addEventListener("popstate", readAgain);
