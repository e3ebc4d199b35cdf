// SPDX-License-Identifier: MIT
// What the categories of blocks and the layers mean, in one sentence each. docs/steps.md has the exact rules.
import { h } from "./dom";

const CATEGORIES: Record<string, string> = {
  parameters: "weights that a module or an optimizer holds",
  gradients: "the .grad of parameters",
  "optimizer state": "what the optimizer keeps from step to step, such as Adam's averages",
  activations: "results of the forward pass, kept for the backward pass",
  temporaries: "made in the backward pass and freed in the same step",
  "backward results": "made in the backward pass and kept longer than a step, but not a gradient",
  inputs: "batches: copies to the device and new tensors outside of modules",
  buffers: "tensors that a module holds and does not train, such as running averages",
  workspace: "scratch memory of cuBLAS, cuDNN and cuSOLVER",
  other: "blocks that fit no other category",
};

const LAYERS: Record<string, string> = {
  torch: "blocks that PyTorch's caching allocator handed out. They lie inside CUDA's",
  cuda: "memory that the process got from CUDA, including what PyTorch has in its cache",
  driver: "memory that the driver takes for contexts, code and limits",
  custom: "blocks that the program's own pools handed out",
  imported: "memory that belongs to another process and that this one uses",
};

/** Returns undefined for a name without a meaning. */
export const categoryMeaning = (name: string): string | undefined => (Object.hasOwn(CATEGORIES, name) ? `${name}: ${CATEGORIES[name]}` : undefined);
export const layerMeaning = (layer: string): string | undefined => (Object.hasOwn(LAYERS, layer) ? LAYERS[layer] : undefined);

/** A list of names with their meanings, closed until the user opens it. */
function list(title: string, rows: [name: string, meaning: string][]): HTMLElement | null {
  if (rows.length === 0) return null;
  return h("details", { class: "meanings" }, h("summary", {}, title),
    h("dl", {}, ...rows.flatMap(([name, meaning]) => [h("dt", {}, name), h("dd", {}, meaning)])));
}

export const categoryList = (names: string[]): HTMLElement | null =>
  list("What the categories mean", names.filter((name) => Object.hasOwn(CATEGORIES, name)).map((name) => [name, CATEGORIES[name]!]));

export const layerList = (layers: string[], nameOf: (layer: string) => string): HTMLElement | null =>
  list("What the layers mean", layers.filter((layer) => Object.hasOwn(LAYERS, layer)).map((layer) => [nameOf(layer), LAYERS[layer]!]));
