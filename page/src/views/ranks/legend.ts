// SPDX-License-Identifier: MIT
// The scale of the map's colours.
import { FONT, makeSurface, type Surface } from "../../chart/surface";
import { placeOnScale, type Values } from "../../model/job_values";
import { change as signed, size } from "../../ui/format";
import { heatColor, heatColors } from "../../ui/heat_colors";

const HEIGHT = 12;

const css = (pixel: number): string => `rgb(${pixel & 255}, ${(pixel >> 8) & 255}, ${(pixel >> 16) & 255})`;

/** The values at which the legend has labels: the ends, and the middle of each half. */
function ticksOf(values: Values): number[] {
  const { low, high, show } = values;
  if (show.signed) return [low, low / 4, 0, high / 4, high];
  return [low, (low + high) / 2, high];
}

export function makeLegend(valuesNow: () => Values): Surface {
  return makeSurface("heat-legend", "Scale of the colours", ({ context: c, width, ink }) => {
    const values = valuesNow();
    const colors = heatColors(values.show.signed);
    const right = width - 1;
    for (let x = 0; x < right; x++) {
      c.fillStyle = css(heatColor(colors, x / Math.max(1, right - 1)));
      c.fillRect(x, 0, 1.5, HEIGHT);
    }
    c.strokeStyle = ink.muted;
    c.lineWidth = 1;
    c.strokeRect(0.5, 0.5, right - 0.5, HEIGHT - 1);
    c.font = FONT;
    c.fillStyle = ink.muted;
    c.textBaseline = "top";
    for (const tick of ticksOf(values)) {
      const x = placeOnScale(values, tick) * (right - 1);
      const text = values.show.signed ? signed(Math.round(tick)) : size(Math.round(tick));
      const half = c.measureText(text).width / 2;
      c.fillRect(x, HEIGHT, 1, 3);
      c.textAlign = "left";
      c.fillText(text, Math.max(0, Math.min(width - 2 * half, x - half)), HEIGHT + 4);
    }
  });
}
