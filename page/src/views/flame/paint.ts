// SPDX-License-Identifier: MIT
// Lays out and draws the flame graph: the outermost frame on top, children below, as wide as their bytes.
import { FONT, fitText, widthOfText, type Drawing } from "../../chart/surface";
import { widthOf, type FlameNode } from "../../model/flame_tree";
import { fileName } from "../../model/names";
import { clean } from "../../ui/format";
import type { Ink } from "../../ui/palette";

export const ROW = 20;

export interface Box {
  node: FlameNode;
  x: number;
  width: number;
  row: number;
}

/** Boxes of the node that fills the width, of the frames above it, and of those below. */
export function layOut(root: FlameNode, zoomed: FlameNode, width: number): Box[] {
  const boxes: Box[] = [];
  const above: FlameNode[] = [];
  for (let node: FlameNode | null = zoomed.parent; node; node = node.parent) above.unshift(node);
  above.forEach((node, row) => boxes.push({ node, x: 0, width, row }));
  const whole = widthOf(zoomed) || 1;
  const put = (node: FlameNode, x: number, row: number): void => {
    const stack: [FlameNode, number, number][] = [[node, x, row]];
    for (let next = stack.pop(); next; next = stack.pop()) {
      const [each, left, depth] = next;
      const w = (widthOf(each) / whole) * width;
      if (w < 0.4) continue;
      boxes.push({ node: each, x: left, width: w, row: depth });
      let at = left;
      for (const child of each.sorted) {
        stack.push([child, at, depth + 1]);
        at += (widthOf(child) / whole) * width;
      }
    }
  };
  put(zoomed, 0, above.length);
  return root ? boxes : [];
}

function fillOf(node: FlameNode, ink: Ink, compares: boolean): string {
  if (node.kind === "root") return ink.hole;
  if (!compares) return node.kind === "own" ? ink.flameOwn : node.kind === "python" ? ink.flamePython : ink.flameNative;
  return node.value > node.before ? ink.more : node.value < node.before ? ink.less : ink.hole;
}

export interface Look {
  matches: (node: FlameNode) => boolean | null;
  hovered: FlameNode | null;
  compares: boolean;
  zoomed: FlameNode;
}

export function paintFlame({ context: c, ink }: Drawing, boxes: Box[], look: Look): void {
  c.font = FONT;
  c.textBaseline = "middle";
  c.textAlign = "left";
  for (const box of boxes) {
    const y = box.row * ROW;
    const found = look.matches(box.node);
    const above = box.node.depth < look.zoomed.depth;
    c.globalAlpha = found === false || above ? 0.4 : 1;
    if (look.compares && box.node.kind !== "root") {
      // The larger the change, the stronger the colour.
      const share = Math.abs(box.node.value - box.node.before) / Math.max(1, widthOf(box.node));
      c.fillStyle = ink.hole;
      c.fillRect(box.x, y, Math.max(0.5, box.width - 0.75), ROW - 1);
      c.globalAlpha *= 0.15 + 0.85 * share;
    }
    c.fillStyle = found ? ink.flameMatch : fillOf(box.node, ink, look.compares);
    c.fillRect(box.x, y, Math.max(0.5, box.width - 0.75), ROW - 1);
    c.globalAlpha = 1;
    if (box.node === look.hovered) {
      c.strokeStyle = ink.text;
      c.lineWidth = 1.5;
      c.strokeRect(box.x + 0.75, y + 0.75, Math.max(0, box.width - 2.25), ROW - 2.5);
    }
    if (box.width > 26) {
      const strong = !look.compares || Math.abs(box.node.value - box.node.before) > widthOf(box.node) / 2;
      const name = clean(box.node.name, 300);
      const where = box.node.where ? `  ${clean(fileName(box.node.where), 200)}` : "";
      const label = fitText(c, name, box.width - 8);
      c.fillStyle = found ? "#10141a" : box.node.kind !== "root" && strong && !above && found !== false ? ink.flameText : ink.text;
      c.fillText(label, box.x + 4, y + ROW / 2);
      const used = where && label === name ? widthOfText(c, name) : box.width;
      if (box.width - used > 60) {
        c.globalAlpha = 0.8;
        c.fillText(fitText(c, where, box.width - used - 12), box.x + 4 + used, y + ROW / 2);
        c.globalAlpha = 1;
      }
    }
  }
}
