// SPDX-License-Identifier: MIT
// A bar chart with one bar for each item, and an optional second value as a darker bar within it. It has one stop of the
// tab key: arrow keys go from bar to bar, Enter chooses one, and a screen reader reads the bar's rows.
import { sizeTicks, tickSize } from "../ui/format";
import { hideTip, showTip, tipRow } from "../ui/tooltip";
import { isDark } from "../ui/palette";
import { FONT, makeSurface, type Surface } from "./surface";

export interface Bar {
  label: string;
  value: number;
  /** A second value, drawn as a darker bar within the first. */
  inner?: number;
  rows: [name: string, value: string][];
}

export function makeBars(label: string, bars: Bar[], onpick?: (at: number) => void): Surface {
  const left = 64;
  const most = Math.max(1, ...bars.map((bar) => Math.max(bar.value, bar.inner ?? 0)));
  const wide = (width: number): number => (width - left) / Math.max(1, bars.length);
  let hovered = -1;
  let focused = -1;
  const surface = makeSurface("bars", label, ({ context: c, width, height, ink }) => {
    const bottom = height - 18;
    const y = (value: number): number => bottom - (value / most) * (bottom - 6);
    c.font = FONT;
    c.textBaseline = "middle";
    c.textAlign = "right";
    for (const tick of sizeTicks(most, 3)) {
      c.fillStyle = ink.line;
      c.fillRect(left, Math.round(y(tick)), width, 1);
      c.fillStyle = ink.muted;
      c.fillText(tickSize(tick), left - 8, Math.max(7, y(tick)));
    }
    const step = wide(width);
    const gap = step > 5 ? 1 : 0;
    const every = Math.max(1, Math.ceil(44 / step));
    c.textAlign = "center";
    bars.forEach((bar, at) => {
      const x = left + at * step;
      c.globalAlpha = at === hovered ? 1 : bar.inner === undefined ? 0.8 : isDark() ? 0.6 : 0.35;
      c.fillStyle = ink.accent;
      c.fillRect(x, y(bar.value), Math.max(0.75, step - gap), bottom - y(bar.value));
      if (bar.inner !== undefined) {
        c.globalAlpha = 0.9;
        c.fillRect(x, y(bar.inner), Math.max(0.75, step - gap), bottom - y(bar.inner));
      }
      c.globalAlpha = 1;
      if (at === focused) {
        c.strokeStyle = ink.text;
        c.lineWidth = 2;
        c.strokeRect(x + 1, 2, Math.max(2, step - gap - 2), bottom - 3);
      }
      const middle = x + step / 2;
      if (at % every === 0 && middle + 12 < width) {
        c.fillStyle = ink.muted;
        c.fillText(bar.label, middle, bottom + 11);
      }
    });
  });
  const at = (event: MouseEvent): number => Math.floor((event.clientX - surface.canvas.getBoundingClientRect().left - left) / wide(surface.width()));
  surface.canvas.addEventListener("pointermove", (event) => {
    const bar = bars[at(event)];
    if (hovered !== at(event)) surface.draw();
    hovered = at(event);
    if (bar) showTip(event.clientX, event.clientY, ...bar.rows.map(([name, value]) => tipRow(name, value)));
    else hideTip();
  });
  surface.canvas.addEventListener("pointerleave", () => {
    hovered = -1;
    hideTip();
    surface.draw();
  });
  const { canvas } = surface;
  const text = (bar: Bar): string => bar.rows.map(([name, value]) => `${name} ${value}`).join(", ");
  const focus = (to: number): void => {
    focused = Math.max(0, Math.min(bars.length - 1, to));
    canvas.setAttribute("aria-valuenow", String(focused));
    canvas.setAttribute("aria-valuetext", text(bars[focused]!));
    const rectangle = canvas.getBoundingClientRect();
    const x = rectangle.left + left + (focused + 0.5) * wide(surface.width());
    showTip(x, rectangle.top, ...bars[focused]!.rows.map(([name, value]) => tipRow(name, value)));
    surface.draw();
  };
  if (bars.length > 0) {
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "slider");
    canvas.setAttribute("aria-valuemin", "0");
    canvas.setAttribute("aria-valuemax", String(bars.length - 1));
    canvas.setAttribute("aria-valuenow", "0");
    canvas.setAttribute("aria-valuetext", text(bars[0]!));
    if (onpick) canvas.setAttribute("aria-description", "Enter chooses the bar's steps as the range");
  }
  canvas.addEventListener("focus", () => canvas.matches(":focus-visible") && focus(Math.max(0, focused)));
  canvas.addEventListener("blur", () => {
    focused = -1;
    hideTip();
    surface.draw();
  });
  canvas.addEventListener("keydown", (event) => {
    const page = Math.max(2, Math.round(bars.length / 10));
    const moves: Record<string, number> = {
      ArrowLeft: focused - 1, ArrowDown: focused - 1, ArrowRight: focused + 1, ArrowUp: focused + 1,
      PageDown: focused - page, PageUp: focused + page, Home: 0, End: bars.length - 1,
    };
    const to = moves[event.key];
    if (to !== undefined && !event.ctrlKey && !event.altKey && !event.metaKey) focus(to);
    else if ((event.key === "Enter" || event.key === " ") && focused >= 0) onpick?.(focused);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  if (onpick) surface.canvas.addEventListener("click", (event) => bars[at(event)] && onpick(at(event)));
  return surface;
}
