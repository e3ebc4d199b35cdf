// SPDX-License-Identifier: MIT
// usage: read_notebook.mjs NODE_MODULES PAGE.html [SHOT.png]
//
// Opens a notebook as HTML in a browser. Prints its tables, inline pages and errors as JSON. Makes a screenshot.
import { createRequire } from "node:module";
import { join } from "node:path";

const [, , packages, path, shot] = process.argv;
const { chromium } = createRequire(join(packages, "index.js"))("playwright-core");
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const tab = await browser.newPage({ viewport: { width: 1100, height: 900 } });
const problems = [];
tab.on("console", (message) => message.type() === "error" && problems.push(message.text()));
tab.on("pageerror", (error) => problems.push(error.message));
tab.on("request", (request) => {
  const url = request.url();
  if (!/^(file:|data:|about:|blob:)/.test(url)) problems.push(`request: ${url.slice(0, 200)}`);
});
await tab.goto(`file://${path}`);
const tables = await tab.$$eval(".gpumemtrace table", (all) =>
  all.map((table) => [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent.trim()))),
);
const pages = [];
for (const frame of await tab.$$(".gpumemtrace iframe")) {
  const hidden = !(await frame.isVisible());
await frame.evaluate((element) => {
    element.closest("details").open = true;
  });
  const inside = await frame.contentFrame();
  await inside.waitForSelector("html[data-ready]", { timeout: 20000 });
  // The page works: another view opens, and the page notes it.
  const before = await inside.textContent("main");
  await inside.click('[data-view="lines"]');
  await inside.waitForFunction((text) => document.querySelector("main").textContent !== text, before, { timeout: 10000 });
  // The page writes its state into the URL a moment later, where it has one.
  await tab.waitForTimeout(500);
  pages.push({ hidden, ready: true, changed: (await inside.textContent("main")) !== before });
}
if (shot) {
  await (await tab.$(".jp-Notebook, main, body")).screenshot({ path: shot });
}
await browser.close();
console.log(JSON.stringify({ problems, tables, pages }));
