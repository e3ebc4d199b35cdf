// SPDX-License-Identifier: MIT
// All views, in the order of the navigation.
import { flame } from "./flame/flame";
import { leaks } from "./leaks";
import { ledger } from "./ledger";
import { lines } from "./lines";
import { modules } from "./modules";
import { oom } from "./oom";
import { ranks } from "./ranks/ranks";
import { recording } from "./recording";
import { recordings } from "./recordings";
import { segments } from "./segments";
import { steps } from "./steps";
import { summary } from "./summary";
import { timeline } from "./timeline/timeline";
import type { View } from "./view";

/** The first view of a page with a job. */
export const JOB_VIEW = ranks;

export const VIEWS: View[] = [summary, timeline, flame, lines, leaks, segments, steps, oom, ledger, modules, recordings, recording];
