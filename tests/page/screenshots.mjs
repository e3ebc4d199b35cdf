// SPDX-License-Identifier: MIT
// Makes the screenshots: tests/page/screenshots says how to run it.
import { mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const { chromium } = createRequire(join(process.argv[2], "index.js"))("playwright-core");
const [, page, folder, ...only] = process.argv.slice(2);
const widths = (process.env.WIDTHS ?? "390,1280,1920").split(",").map(Number);
const themes = (process.env.THEMES ?? "light,dark").split(",");
mkdirSync(folder, { recursive: true });
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
for (const width of widths) {
  const tab = await browser.newPage({ viewport: { width, height: width < 600 ? 844 : Math.round(width * 0.62) } });
  tab.on("console", (message) => message.type() === "error" && console.error(message.text()));
  tab.on("pageerror", (error) => console.error(error.message));
  for (const theme of themes) {
    await tab.goto(`file://${resolve(page)}`);
    await tab.waitForSelector("html[data-ready]");
    const views = await tab.$$eval("[data-view]", (tabs) => tabs.map((each) => each.dataset.view));
    for (const view of views) {
      if (only.length > 0 && !only.includes(view)) continue;
      await tab.goto("about:blank");
      await tab.goto(`file://${resolve(page)}#view=${view}&theme=${theme}${process.env.HASH ? `&${process.env.HASH}` : ""}`);
      await tab.waitForSelector("html[data-ready]");
      await tab.waitForTimeout(120);
      await tab.screenshot({ path: join(folder, `${view}-${theme}-${width}.png`), fullPage: process.env.FULL === "1" });
    }
  }
  await tab.close();
}
await browser.close();
