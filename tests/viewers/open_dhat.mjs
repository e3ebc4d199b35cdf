// SPDX-License-Identifier: MIT
// usage: open_dhat.mjs PACKAGES PAGE FILE
// Opens a file in DHAT's own page. Prints, as JSON, the errors of the page, and its text.
import { createRequire } from "node:module";
import { join } from "node:path";

const [, , packages, page, file] = process.argv;
const { chromium } = createRequire(join(packages, "index.js"))("playwright-core");
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });
const tab = await browser.newPage();
const problems = [];
tab.on("pageerror", (error) => problems.push(error.message));
await tab.goto(`file://${page}`);
await tab.setInputFiles("input[type=file]", file);
await tab.waitForFunction(() => /PP 1|rror/.test(document.body.innerText), null, { timeout: 30000 });
problems.push(...(await tab.locator(".error").allTextContents()));
console.log(JSON.stringify({ problems, text: await tab.evaluate(() => document.body.innerText) }));
await browser.close();
