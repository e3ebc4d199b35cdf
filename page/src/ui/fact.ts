// SPDX-License-Identifier: MIT
// A name and its value, one of a list of facts.
import { h, type Child } from "./dom";

export const fact = (name: string, value: Child, title?: string): HTMLElement => h("div", { class: "fact", title }, h("dt", {}, name), h("dd", {}, value));
