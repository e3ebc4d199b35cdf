// SPDX-License-Identifier: MIT
// The tree of a flame graph, made of the stacks of sites that have a weight.
import type { Place, Recording } from "../data/recording";
import { lineOf, shortFunction } from "./names";

/** The nodes of a tree stay the same when its weights change. Only nodes with a weight are among `sorted`. */
export interface FlameNode {
  name: string;
  /** File and line, or the library. */
  where: string;
  kind: string; // own, python, native, root
  value: number;
  /** The same in the recording that this one is compared with. */
  before: number;
  /** Children that have a weight, largest first. */
  readonly sorted: FlameNode[];
  parent: FlameNode | null;
  depth: number;
}

export interface Weighted {
  recording: Recording;
  weights: Float64Array;
}

class TreeNode implements FlameNode {
  value = 0;
  before = 0;
  readonly depth: number;
  readonly children = new Map<number, TreeNode>();
  private order: TreeNode[] | null = null;

  constructor(readonly name: string, readonly where: string, readonly kind: string, readonly parent: TreeNode | null) {
    this.depth = parent ? parent.depth + 1 : 0;
  }

  /** Most nodes are narrower than a pixel, so a node sorts its children when somebody asks for them. */
  get sorted(): TreeNode[] {
    if (!this.order) {
      this.order = [];
      for (const child of this.children.values()) if (widthOf(child) > 0) this.order.push(child);
      this.order.sort((a, b) => widthOf(b) - widthOf(a) || (a.name < b.name ? -1 : 1));
    }
    return this.order;
  }

  clear(): void {
    this.value = this.before = 0;
    this.order = null;
  }
}

const kindOf = (place: Place): string => (place.own ? "own" : place.python ? "python" : "native");

/** "auto" hides native frames where the recording has Python frames: most native frames lead from there to the driver. */
export function resolveFrames(frames: string, recording: Recording): string {
  if (frames !== "auto") return frames;
  return recording.places.some((place) => place.python) ? "python" : "all";
}

function wanted(place: Place, frames: string): boolean {
  if (frames === "python") return place.python || place.own;
  if (frames === "native") return !place.python;
  if (frames === "own") return place.own;
  return true;
}

interface Label {
  id: number;
  name: string;
  where: string;
  kind: string;
}

/** Numbers of frames, the same in all recordings of the page. */
const ids = new Map<string, number>();

function idOf(key: string): number {
  let id = ids.get(key);
  if (id === undefined) ids.set(key, (id = ids.size));
  return id;
}

const labelsOf = new WeakMap<Recording, Map<number, Label>>();

function labelOf(recording: Recording, at: number): Label {
  let labels = labelsOf.get(recording);
  if (!labels) labelsOf.set(recording, (labels = new Map()));
  let label = labels.get(at);
  if (!label) {
    const place = recording.places[at]!;
    const line = lineOf(place, recording.report.process.directory);
    const name = place.python ? place.function : shortFunction(place.function);
    const id = idOf(`${place.function}\n${place.file}:${place.line}`);
    label = { id, name, where: line === place.function ? place.module : line, kind: kindOf(place) };
    labels.set(at, label);
  }
  return label;
}

/** What the stack from the root to a node contains. */
const PYTHON = 1;
const OWN_PYTHON = 2;
const PYTHON_OR_OWN = 4;

const flagsOf = new WeakMap<Recording, Uint8Array>();

function nodeFlags(recording: Recording): Uint8Array {
  let flags = flagsOf.get(recording);
  if (!flags) {
    const { nodeParent, nodePlace, places } = recording;
    flags = new Uint8Array(nodePlace.length);
    // A parent stands before its children.
    for (let node = 1; node < flags.length; node++) {
      const place = places[nodePlace[node]!];
      let bits = flags[nodeParent[node]!]!;
      if (place?.python) bits |= PYTHON | PYTHON_OR_OWN | (place.own ? OWN_PYTHON : 0);
      else if (place?.own) bits |= PYTHON_OR_OWN;
      flags[node] = bits;
    }
    flagsOf.set(recording, flags);
  }
  return flags;
}

/**
 * Which frames of a stack are shown. Native frames outside of the outermost Python frame start the interpreter or the
 * thread: they are dropped, so that stacks of several threads meet in Python. A frame is dropped if no bit of
 * `dropMask` is set for its node.
 */
interface Choice {
  frames: string;
  dropMask: number;
}

function choiceFor(flags: number, frames: string): Choice {
  // A thread without Python has only native frames.
  const shown = frames === "python" && !(flags & PYTHON_OR_OWN) ? "all" : frames;
  const mask = shown === "native" ? 0 : shown === "own" ? OWN_PYTHON : PYTHON;
  return { frames: shown, dropMask: flags & mask };
}

const isShown = (place: Place | undefined, flags: number, choice: Choice): boolean =>
  place !== undefined && wanted(place, choice.frames) && (choice.dropMask === 0 || (flags & choice.dropMask) !== 0);

const SLICE_MS = 6;

/** A tree that keeps its nodes. A site's path is made when the site first has a weight. */
class Tree {
  readonly root = new TreeNode("all", "", "root", null);
  /** In the order in which they were made: a parent stands before its children. */
  private readonly nodes: TreeNode[] = [this.root];
  private readonly leaves = new Map<Recording, TreeNode[]>();
  private prepared = 0;
  /** The nodes of the tree by those of a recording. */
  private readonly known = new Map<string, TreeNode[]>();

  constructor(private readonly frames: string, private readonly inverted: boolean) {}

  private child(parent: TreeNode, id: number, name: string, where: string, kind: string): TreeNode {
    let child = parent.children.get(id);
    if (!child) {
      child = new TreeNode(name, where, kind, parent);
      parent.children.set(id, child);
      this.nodes.push(child);
    }
    return child;
  }

  private makeLeaf(recording: Recording, number: number): TreeNode {
    const flags = nodeFlags(recording);
    const { node } = recording.sites[number]!;
    const choice = choiceFor(flags[node]!, this.frames);
    const leaf = this.inverted ? this.downFromLeaf(recording, node, flags, choice) : this.downToLeaf(recording, node, flags, choice);
    if (leaf !== this.root) return leaf;
    const name = number === 0 ? "sites left out of the page" : "no such frame";
    return this.child(this.root, idOf(name), name, "", "native");
  }

  private below(parent: TreeNode, recording: Recording, place: number): TreeNode {
    const label = labelOf(recording, place);
    return this.child(parent, label.id, label.name, label.where, label.kind);
  }

  private downFromLeaf(recording: Recording, node: number, flags: Uint8Array, choice: Choice): TreeNode {
    const { nodeParent, nodePlace, places } = recording;
    let at = this.root;
    for (; node > 0; node = nodeParent[node]!) {
      if (isShown(places[nodePlace[node]!], flags[node]!, choice)) at = this.below(at, recording, nodePlace[node]!);
    }
    return at;
  }

  /** Sites share the outer part of their stacks: each node of the recording is looked at once. */
  private downToLeaf(recording: Recording, node: number, flags: Uint8Array, choice: Choice): TreeNode {
    const { nodeParent, nodePlace, places } = recording;
    const key = `${recording.number} ${choice.frames} ${choice.dropMask}`;
    let known = this.known.get(key);
    if (!known) this.known.set(key, (known = []));
    const chain: number[] = [];
    for (; node > 0 && !known[node]; node = nodeParent[node]!) chain.push(node);
    let at = node > 0 ? known[node]! : this.root;
    for (let i = chain.length - 1; i >= 0; i--) {
      const each = chain[i]!;
      if (isShown(places[nodePlace[each]!], flags[each]!, choice)) at = this.below(at, recording, nodePlace[each]!);
      known[each] = at;
    }
    return at;
  }

  private give({ recording, weights }: Weighted, before: boolean): void {
    let leaves = this.leaves.get(recording);
    if (!leaves) this.leaves.set(recording, (leaves = []));
    for (let number = 0; number < weights.length; number++) {
      const weight = weights[number]!;
      if (weight <= 0) continue;
      const leaf = (leaves[number] ??= this.makeLeaf(recording, number));
      if (before) leaf.before += weight;
      else leaf.value += weight;
    }
  }

  /** Makes the paths of more sites, for some milliseconds. Returns whether all are made. */
  prepare(recording: Recording): boolean {
    let leaves = this.leaves.get(recording);
    if (!leaves) this.leaves.set(recording, (leaves = []));
    const until = performance.now() + SLICE_MS;
    for (; this.prepared < recording.sites.length; this.prepared++) {
      leaves[this.prepared] ??= this.makeLeaf(recording, this.prepared);
      if (this.prepared % 16 === 0 && performance.now() > until) return false;
    }
    return true;
  }

  weigh(now: Weighted, before: Weighted | null): TreeNode {
    for (const node of this.nodes) node.clear();
    this.give(now, false);
    if (before) this.give(before, true);
    for (let i = this.nodes.length - 1; i > 0; i--) {
      const node = this.nodes[i]!;
      node.parent!.value += node.value;
      node.parent!.before += node.before;
    }
    return this.root;
  }
}

const trees = new WeakMap<Recording, Map<string, Tree>>();

function treeOf(recording: Recording, frames: string, inverted: boolean): Tree {
  let known = trees.get(recording);
  if (!known) trees.set(recording, (known = new Map()));
  const key = `${frames} ${inverted}`;
  let tree = known.get(key);
  if (!tree) known.set(key, (tree = new Tree(frames, inverted)));
  return tree;
}

/**
 * Returns the root. With `before`, nodes also have the weights of a second recording. The nodes of a recording are the
 * same at each call with the same frames: the next call changes their weights.
 */
export function makeTree(now: Weighted, before: Weighted | null, frames: string, inverted: boolean): FlameNode {
  return treeOf(now.recording, frames, inverted).weigh(now, before);
}

/**
 * Makes a part of the nodes that the next ranges will need, for some milliseconds. Call it again, when the browser has
 * time, until it returns true.
 */
export const prepareTree = (recording: Recording, frames: string, inverted: boolean): boolean => treeOf(recording, frames, inverted).prepare(recording);

export const widthOf = (node: FlameNode): number => Math.max(node.value, node.before);

/** The path of a node as text for the URL: positions among the sorted children. */
export function pathOf(node: FlameNode): string {
  const out: number[] = [];
  for (let at: FlameNode = node; at.parent; at = at.parent) out.push(at.parent.sorted.indexOf(at));
  return out.reverse().join(".");
}

export function nodeAt(root: FlameNode, path: string): FlameNode {
  let node = root;
  if (!path) return node;
  for (const part of path.split(".")) {
    const next = node.sorted[Number(part)];
    if (!next) return node;
    node = next;
  }
  return node;
}
