// SPDX-License-Identifier: MIT
// Runs in the page. Returns clipped elements, overlapping texts, and whether the page is wider than its window.
export function findLayoutFaults() {
  const faults = [];
  const name = (element) => `${element.tagName.toLowerCase()}.${element.className} "${(element.textContent ?? "").slice(0, 40)}"`;
  if (document.documentElement.scrollWidth > innerWidth + 1) faults.push(`the page is ${document.documentElement.scrollWidth} wide, its window ${innerWidth}`);
  const hidden = (element) => element.closest(".hidden-text, .skip, [hidden], details:not([open]) > :not(summary)") !== null;
  const scrolls = (element) => ["auto", "scroll"].includes(getComputedStyle(element).overflowX);
  for (const element of document.querySelectorAll("#app *")) {
    if (!(element instanceof HTMLElement) || hidden(element) || element.clientWidth === 0 || scrolls(element)) continue;
    if (/^(SELECT|INPUT|TEXTAREA|CANVAS)$/.test(element.tagName)) continue;
    const style = getComputedStyle(element);
    if (style.display === "inline") continue;
    if (element.scrollWidth > element.clientWidth + 1 && style.textOverflow !== "ellipsis" && style.overflowX !== "visible") {
      // A box that cuts its children is fine if each child shows an ellipsis or scrolls by itself.
      faults.push(`clipped: ${name(element)} ${element.scrollWidth} > ${element.clientWidth}`);
    }
    if (element.scrollWidth > element.clientWidth + 1 && style.overflowX === "visible" && style.textOverflow !== "ellipsis") {
      const box = element.getBoundingClientRect();
      const out = [...element.children].some((child) => {
        const inner = child.getBoundingClientRect();
        return inner.width > 1 && !hidden(child) && inner.right > box.right + 1.5 && getComputedStyle(child).position !== "absolute";
      });
      if (out && !element.closest("tr, table, .scroll-x")) faults.push(`sticks out: ${name(element)}`);
    }
  }
  faults.push(...overlaps(hidden));
  return faults.slice(0, 12);

  function overlaps(isHidden) {
    const boxes = [];
    const walker = document.createTreeWalker(document.getElementById("app"), NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const parent = node.parentElement;
      if (!node.data.trim() || isHidden(parent) || /^(OPTION|SELECT)$/.test(parent.tagName)) continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      for (const rect of range.getClientRects()) {
        let { left, right, top, bottom } = rect;
        for (let clip = parent; clip && clip.id !== "app"; clip = clip.parentElement) {
          const style = getComputedStyle(clip);
          if (style.overflowX === "visible" || style.display === "inline") continue;
          const box = clip.getBoundingClientRect();
          left = Math.max(left, box.left);
          right = Math.min(right, box.right);
          top = Math.max(top, box.top);
          bottom = Math.min(bottom, box.bottom);
        }
        if (right - left > 2 && bottom - top > 4) boxes.push({ node, left, right, top, bottom, text: node.data.trim().slice(0, 30) });
      }
    }
    const found = [];
    boxes.sort((a, b) => a.top - b.top);
    boxes.forEach((a, at) => {
      for (let next = at + 1; next < boxes.length && boxes[next].top < a.bottom - 4; next++) {
        const b = boxes[next];
        // A cut text has two boxes: that of its visible part, and that of the whole text.
        if (a.node === b.node) continue;
        const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (wide > 2 && high > 5) found.push(`overlap: "${a.text}" and "${b.text}"`);
      }
    });
    return found;
  }
}
