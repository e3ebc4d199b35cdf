// SPDX-License-Identifier: MIT
// usage: open_speedscope.mjs PACKAGES SPEEDSCOPE FILE
// Opens a file in speedscope's own page. Prints, as JSON, the errors of the page, and the rows of its tables: number,
// name and weight of each profile; then total, self and name of each function of the first profile ("Sandwich").
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, join } from "node:path";

const [, , packages, speedscope, file] = process.argv;
const { chromium } = createRequire(join(packages, "index.js"))("playwright-core");
const script = `${file}.js`;
// The program `speedscope` opens a file in the same way.
writeFileSync(
  script,
  `speedscope.loadFileFromBase64(${JSON.stringify(basename(file))}, ${JSON.stringify(readFileSync(file).toString("base64"))})`,
);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: ["--no-sandbox", "--use-gl=swiftshader", "--enable-unsafe-swiftshader"],
});
const tab = await browser.newPage({ viewport: { width: 1400, height: 2000 } });
const problems = [];
tab.on("pageerror", (error) => problems.push(error.message));
tab.on("dialog", (dialog) => {
  problems.push(dialog.message());
  dialog.dismiss();
});
await tab.goto(`file://${speedscope}/dist/release/index.html#localProfilePath=${script}`);
await tab.waitForFunction(() => /Sandwich/.test(document.body.innerText), null, { timeout: 30000 });
await tab.keyboard.press("3");
await tab.waitForSelector("table", { state: "attached", timeout: 10000 });
const rows = await tab.evaluate(() =>
  [...document.querySelectorAll("tr")].map((row) => [...row.children].map((cell) => cell.textContent)),
);
console.log(JSON.stringify({ problems, rows }));
await browser.close();
