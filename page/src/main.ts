// SPDX-License-Identifier: MIT
// Starts the page: reads the index, decodes what the current view needs, shows the view.
import { hasDevice, loadDevice } from "./data/device";
import { readIndex, type PageIndex } from "./data/index";
import { hasJob, loadJob, type Job } from "./data/job";
import { loadRecording } from "./data/recording";
import { change, listen, setFirstView, state } from "./state/state";
import { add, h, note, replace } from "./ui/dom";
import { listenToKeys, showHelp } from "./ui/keys";
import { applyTheme, makeShell, type Shell } from "./ui/shell";
import { hideTip } from "./ui/tooltip";
import { JOB_VIEW, VIEWS } from "./views/view_list";
import type { Context, Mounted, View } from "./views/view";

let context: Context | null = null;
let job: Job | null = null;
let views: View[] = VIEWS;
let mounted: Mounted | void;
let turn = 0;

const viewNow = (): View => views.find((view) => view.id === state().view) ?? views[0]!;

/** Decodes the recording, device and layer that the state names, or those that the index puts first. */
async function loadContext(index: PageIndex): Promise<Context> {
  const now = state();
  const entry = index.recordings[now.recording];
  if (!entry) throw new Error("The page has no recording.");
  if (entry.error) throw new Error(entry.error);
  const recording = await loadRecording(now.recording);
  const usable = entry.devices.filter((each) => each.packet && hasDevice(now.recording, each.device));
  const deviceEntry = usable.find((each) => each.device === now.device) ?? usable[0] ?? null;
  const device = deviceEntry ? await loadDevice(now.recording, deviceEntry.device, recording.durationNs) : null;
  const layer = device?.layers.find((each) => each.name === now.layer) ?? device?.layers.find((each) => each.name === deviceEntry?.layer) ?? device?.layers[0] ?? null;
  return { index, entry, deviceEntry, recording, device, layer };
}

function mountView(shell: Shell): void {
  if (mounted && mounted.close) mounted.close();
  hideTip();
  const view = viewNow();
  mounted = undefined;
  shell.show(context, view, job);
  replace(shell.view);
  shell.view.className = `view view-${view.id}`;
  if (view.mountJob && job) mounted = view.mountJob(shell.view, job);
  if (!context || view.mountJob) return;
  add(shell.view, view.id === "summary" ? null : h("h1", { class: "view-title" }, view.name));
  mounted = view.mount(shell.view, context);
}

/** Applies the theme. A view has colours of the theme in its elements, so it is made again. */
function useTheme(shell: Shell): void {
  applyTheme();
  if (context || job) mountView(shell);
}

async function load(index: PageIndex, shell: Shell): Promise<void> {
  const mine = ++turn;
  try {
    // The view of a job needs no recording. A recording is decoded when one of its views is opened.
    const next = viewNow().mountJob ? null : await loadContext(index);
    const nextJob = hasJob() ? await loadJob() : null;
    if (mine !== turn) return;
    [context, job] = [next, nextJob];
    mountView(shell);
  } catch (error) {
    if (mine !== turn) return;
    context = null;
    mountView(shell);
    const several = index.recordings.length > 1 ? " Choose another recording above." : "";
    replace(shell.view, h("div", { class: "failure", role: "alert" }, h("h1", {}, viewNow().mountJob ? "The job cannot be shown" : "This recording cannot be shown"), note(`${(error as Error).message}${several}`)));
  }
  document.documentElement.dataset.ready = String(mine);
}

function start(): void {
  const root = document.getElementById("app")!;
  const fixed = document.getElementById("static-summary");
  let index: PageIndex | null;
  try {
    index = readIndex();
  } catch (error) {
    add(root, note(`This page cannot be shown: ${(error as Error).message}.`));
    return;
  }
  if (!index) {
    add(root, note("This page is the template of gpumemtrace: it has no data."));
    return;
  }
  const found = index;
  if (fixed) fixed.hidden = true;
  if (hasJob()) {
    views = found.recordings.length > 0 ? [JOB_VIEW, ...VIEWS] : [JOB_VIEW];
    setFirstView(JOB_VIEW.id);
  }
  const shell = makeShell(root, found, views, showHelp);
  applyTheme();
  listenToKeys(views, () => context);
  listen((changed) => {
    if (changed.has("theme")) useTheme(shell);
    if (changed.has("recording") || changed.has("device") || changed.has("layer")) {
      void load(found, shell);
      return;
    }
    if (changed.has("view") && Boolean(viewNow().mountJob) === Boolean(context)) {
      // From a job to one of its recordings, or back.
      void load(found, shell);
      window.scrollTo(0, 0);
    } else if (changed.has("view")) {
      mountView(shell);
      window.scrollTo(0, 0);
    } else if (mounted && mounted.update) {
      mounted.update(changed);
    }
    shell.drawStrip();
  });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => useTheme(shell));
  if (!views.some((view) => view.id === state().view)) change({ view: views[0]!.id });
  if (found.recordings.length === 0 && !hasJob()) replace(shell.view, note("The page has no recording."));
  else void load(found, shell);
}

start();
