// SPDX-License-Identifier: MIT
// usage: screenshots.mjs PACKAGES FOLDER NAME=ADDRESS[=FILE]...
// Writes FOLDER/NAME.png for each viewer: its page at ADDRESS, into which FILE is loaded if the page asks for one.
// scripts/screenshots starts it. CHROMIUM is the browser.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, join } from "node:path";

const [, , packages, folder, ...pictures] = process.argv;
const { chromium } = createRequire(join(packages, "index.js"))("playwright-core");
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--use-gl=swiftshader", "--enable-unsafe-swiftshader"],
});

// What to do with the page of a viewer until it shows the recording.
const prepare = {
  async speedscope(tab, address, file) {
    const script = `${file}.js`;
    const content = JSON.stringify(readFileSync(file).toString("base64"));
    writeFileSync(script, `speedscope.loadFileFromBase64(${JSON.stringify(basename(file))}, ${content})`);
    await tab.goto(`${address}#localProfilePath=${script}`);
    await tab.waitForFunction(() => /Sandwich/.test(document.body.innerText));
    await tab.keyboard.press("2"); // Left Heavy
  },
  async dhat(tab, address, file) {
    await tab.goto(address);
    await tab.setInputFiles("input[type=file]", file);
    await tab.waitForFunction(() => /PP 1/.test(document.body.innerText));
  },
  async tensorboard(tab, address) {
    await tab.goto(address);
    await tab.waitForFunction(() => /peak memory/.test(document.body.innerText));
    await tab.waitForSelector("scalar-card svg path", { state: "attached" });
  },
  async pprof(tab, address) {
    await tab.goto(address);
    await tab.waitForFunction(() => /training_step/.test(document.body.innerText));
  },
};

for (const picture of pictures) {
  const [name, address, file] = picture.split("=");
  const tab = await browser.newPage({ viewport: { width: 1280, height: 640 } });
  await prepare[name](tab, address, file);
  await tab.waitForTimeout(1500); // the pages move their charts into place
  await tab.screenshot({ path: join(folder, `${name}.png`) });
  await tab.close();
}
await browser.close();
