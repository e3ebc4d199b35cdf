// SPDX-License-Identifier: MIT
// A canvas that has the size of its box at the screen's resolution, and draws again when the box or the theme changes.
import { h } from "../ui/dom";
import { readInk, type Ink } from "../ui/palette";

export interface Drawing {
  context: CanvasRenderingContext2D;
  width: number;
  height: number;
  ink: Ink;
}

export interface Surface {
  element: HTMLElement;
  canvas: HTMLCanvasElement;
  /** Draws in the next frame. */
  draw(): void;
  width(): number;
  height(): number;
  close(): void;
}

const open = new Set<Surface>();

/** Draws all canvases again: the theme has changed. */
export function drawAll(): void {
  for (const surface of open) surface.draw();
}

export function makeSurface(className: string, label: string, paint: (drawing: Drawing) => void): Surface {
  const canvas = h("canvas", { role: "img", "aria-label": label }) as HTMLCanvasElement;
  const element = h("div", { class: `surface ${className}` }, canvas);
  let waits = 0;
  let width = 0;
  let height = 0;
  const now = (): void => {
    waits = 0;
    width = element.clientWidth;
    height = element.clientHeight;
    if (width === 0 || height === 0) return;
    const ratio = Math.min(3, window.devicePixelRatio || 1);
    const [w, k] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== w || canvas.height !== k) {
      canvas.width = w;
      canvas.height = k;
    }
    const context = canvas.getContext("2d")!;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    paint({ context, width, height, ink: readInk() });
  };
  const surface: Surface = {
    element,
    canvas,
    draw() {
      if (!waits) waits = requestAnimationFrame(now);
    },
    width: () => element.clientWidth,
    height: () => element.clientHeight,
    close() {
      observer.disconnect();
      cancelAnimationFrame(waits);
      open.delete(surface);
    },
  };
  const observer = new ResizeObserver(() => surface.draw());
  observer.observe(element);
  open.add(surface);
  return surface;
}

export const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif';

/** Widths of letters by font: a flame graph asks for the width of thousands of texts. */
const letterWidths = new Map<string, Map<string, number>>();

function widthOfLetter(context: CanvasRenderingContext2D, known: Map<string, number>, letter: string): number {
  let width = known.get(letter);
  if (width === undefined) known.set(letter, (width = context.measureText(letter).width));
  return width;
}

/** The width of a text, without kerning. */
export function widthOfText(context: CanvasRenderingContext2D, text: string): number {
  let known = letterWidths.get(context.font);
  if (!known) letterWidths.set(context.font, (known = new Map()));
  let sum = 0;
  for (const letter of text) sum += widthOfLetter(context, known, letter);
  return sum;
}

/** Text that ends with an ellipsis where it is wider than `width`. */
export function fitText(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (width < 12) return "";
  let known = letterWidths.get(context.font);
  if (!known) letterWidths.set(context.font, (known = new Map()));
  const most = width - widthOfLetter(context, known, "\u2026");
  let sum = 0;
  let at = 0;
  let fits = 0;
  for (const letter of text) {
    sum += widthOfLetter(context, known, letter);
    if (sum > width) return fits > 0 ? `${text.slice(0, fits)}\u2026` : "";
    at += letter.length;
    if (sum <= most) fits = at;
  }
  return text;
}
