// SPDX-License-Identifier: MIT
// usage: run_in_jupyterlab.mjs NODE_MODULES URL
//
// Opens a notebook in JupyterLab, runs its cells as a user does, and prints its tables and errors as JSON.
import { createRequire } from "node:module";
import { join } from "node:path";

const [, , packages, url] = process.argv;
const { chromium } = createRequire(join(packages, "index.js"))("playwright-core");
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const tab = await browser.newPage({ viewport: { width: 1300, height: 1000 } });
const problems = [];
tab.on("console", (message) => message.type() === "error" && problems.push(message.text()));
tab.on("pageerror", (error) => problems.push(error.message));
await tab.goto(url);
await tab.waitForSelector(".jp-Notebook .jp-Cell", { timeout: 120000 });
// JupyterLab ignores the menu until its session with the kernel is ready, and does not show this. So try repeatedly.
for (let left = 10, done = false; left > 0 && !done; left--) {
  await tab.keyboard.press("Escape");
  await tab.click("text=Run");
  await tab.click("text=Run All Cells");
  const shown = tab.waitForSelector(".gpumemtrace iframe", { state: "attached", timeout: 15000 });
  done = await shown.then(
    () => true,
    () => false,
  );
}
const tables = await tab.$$eval(".gpumemtrace table", (all) =>
  all.map((table) => [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent.trim()))),
);
await tab.click(".gpumemtrace summary");
const page = await (await tab.$(".gpumemtrace iframe")).contentFrame();
await page.waitForSelector("html[data-ready]", { timeout: 60000 });
await page.click('[data-view="lines"]');
await page.waitForFunction(() => document.querySelector("main").textContent.includes("Lines"), null, { timeout: 20000 });
await tab.waitForTimeout(500);
await browser.close();
console.log(JSON.stringify({ problems, tables }));
