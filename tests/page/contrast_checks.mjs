// SPDX-License-Identifier: MIT
// Runs in the page. Returns the texts whose contrast to their background is below 4.5 (large texts: 3). With `areas`,
// also the swatches and parts of bars whose contrast to their background is below 3.
export function findContrastFaults(areas) {
  const parse = (color) => {
    const numbers = color.match(/[\d.]+/g)?.map(Number) ?? [0, 0, 0, 0];
    return numbers.length === 3 ? [...numbers, 1] : numbers;
  };
  const over = (top, below) => top.slice(0, 3).map((value, at) => value * top[3] + below[at] * (1 - top[3]));
  const light = (rgb) => {
    const [r, g, b] = rgb.map((value) => (value / 255 <= 0.03928 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => {
    const [x, y] = [light(a), light(b)];
    return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
  };
  const backOf = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) layers.push(parse(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255]);
  };
  const faults = [];
  const walker = document.createTreeWalker(document.getElementById("app"), NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || element.closest(".hidden-text, .skip, [hidden]") || element.getClientRects().length === 0) continue;
    const style = getComputedStyle(element);
    let opacity = 1;
    for (let at = element; at; at = at.parentElement) opacity *= Number(getComputedStyle(at).opacity);
    const back = backOf(element);
    const color = parse(style.color);
    const seen = contrast(over([...color.slice(0, 3), color[3] * opacity], back), back);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && Number(style.fontWeight) >= 700);
    if (seen < (large ? 3 : 4.5)) faults.push(`${seen.toFixed(2)}: "${node.data.trim().slice(0, 30)}"`);
  }
  if (!areas) return faults;
  for (const element of document.querySelectorAll(".swatch:not(.outlined), .stacked-bar span")) {
    if (element.getClientRects().length === 0) continue;
    const style = getComputedStyle(element);
    const color = parse(style.backgroundColor);
    const back = backOf(element.parentElement);
    const seen = contrast(over([...color.slice(0, 3), color[3] * Number(style.opacity)], back), back);
    if (seen < 3) faults.push(`${seen.toFixed(2)}: area ${element.parentElement.textContent.slice(0, 30)}`);
  }
  return faults;
}
