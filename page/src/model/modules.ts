// SPDX-License-Identifier: MIT
// The tree of the model's modules, with the bytes of each category.
import type { Recording } from "../data/recording";

export interface ModuleNode {
  name: string;
  path: string;
  bytes: number;
  byCategory: Map<string, number>;
  children: Map<string, ModuleNode>;
}

const makeNode = (name: string, path: string): ModuleNode => ({ name, path, bytes: 0, byCategory: new Map(), children: new Map() });

/** Adds the weights of the sites up by the parts of their module's name. */
export function modulesOf(recording: Recording, weights: Float64Array): ModuleNode {
  const root = makeNode("all", "");
  weights.forEach((bytes, number) => {
    if (bytes <= 0) return;
    const site = recording.sites[number]!;
    const give = (node: ModuleNode): void => {
      node.bytes += bytes;
      node.byCategory.set(site.category, (node.byCategory.get(site.category) ?? 0) + bytes);
    };
    let node = root;
    give(node);
    const parts = site.module && number > 0 ? site.module.slice(0, 2000).split(site.module.includes(" > ") ? " > " : ".").slice(0, 40) : ["outside of modules"];
    for (const part of parts) {
      let child = node.children.get(part);
      if (!child) node.children.set(part, (child = makeNode(part, node.path ? `${node.path}.${part}` : part)));
      node = child;
      give(node);
    }
  });
  return root;
}
