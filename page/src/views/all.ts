// SPDX-License-Identifier: MIT
// All views, in the order of the navigation.
import { flame } from "./flame/flame";
import { leaks } from "./leaks";
import { ledger } from "./ledger";
import { lines } from "./lines";
import { modules } from "./modules";
import { oom } from "./oom";
import { recording } from "./recording";
import { recordings } from "./recordings";
import { segments } from "./segments";
import { steps } from "./steps";
import { summary } from "./summary";
import { timeline } from "./timeline/timeline";
import type { View } from "./view";

export const VIEWS: View[] = [summary, timeline, flame, lines, leaks, segments, steps, oom, ledger, modules, recordings, recording];
