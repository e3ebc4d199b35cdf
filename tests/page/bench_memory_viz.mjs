// SPDX-License-Identifier: MIT
// usage: tests/page/run bench_memory_viz.mjs OURS.html THEIRS.html MEMORY_VIZ.js PACKAGES [ROUNDS]
//
// Opens two pages of one run in Chromium: `report --html` and `_memory_viz.py trace_plot`. Prints the time until each
// shows its first picture, the processor time of its thread, and the memory of its scripts.
//
// The second page loads its script from the network. Here it gets MEMORY_VIZ.js, a copy of PyTorch's
// torch/utils/viz/MemoryViz.js, and the D3 modules of PACKAGES, a folder where `npm i d3@5 d3-axis@1 d3-scale@1
// d3-zoom@1 d3-brush@1` ran.
import { readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { load } from "./harness.mjs";

const [ours, theirs, memoryViz, packages] = process.argv.slice(4, 8).map((path) => resolve(path));
const rounds = Number(process.argv[8] ?? 3);
if (!packages) {
  console.error("usage: tests/page/run bench_memory_viz.mjs OURS.html THEIRS.html MEMORY_VIZ.js PACKAGES [ROUNDS]");
  process.exit(2);
}
const { chromium } = load("playwright-core");
const esbuild = load("esbuild");
const LONGEST_MS = 300000;

/** One D3 module as the browser loads it, for example of the address ".../d3-axis@1". */
function bundleOf(address) {
  const name = /\/(d3[a-z-]*)@/.exec(address)[1];
  const entry = { contents: `export * from "${name}"`, resolveDir: packages };
  return esbuild.buildSync({ stdin: entry, bundle: true, format: "esm", write: false }).outputFiles[0].text;
}

async function answer(route) {
  const address = route.request().url();
  if (address.startsWith("file:")) return route.continue();
  const headers = { "access-control-allow-origin": "*" };
  const body = address.includes("MemoryViz") ? readFileSync(memoryViz, "utf8") : bundleOf(address);
  return route.fulfill({ contentType: "text/javascript", headers, body });
}

/** Opens a page in a browser of its own. `isDrawn` is run in the page until it returns true. */
async function measure(name, path, isDrawn) {
  const rows = [];
  for (let round = 0; round < rounds; round++) {
    const browser = await chromium.launch({
      executablePath: process.env.CHROMIUM,
      args: ["--no-sandbox", "--enable-precise-memory-info"],
    });
    try {
      const tab = await browser.newPage({ viewport: { width: 1280, height: 800 } });
      const session = await tab.context().newCDPSession(tab);
      await session.send("Performance.enable");
      await tab.route("**/*", answer);
      const begin = performance.now();
      await tab.goto(`file://${path}`, { timeout: LONGEST_MS });
      await tab.waitForFunction(isDrawn, null, { timeout: LONGEST_MS });
      await tab.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
      const seconds = (performance.now() - begin) / 1000;
      const { metrics } = await session.send("Performance.getMetrics");
      const metric = (key) => metrics.find((each) => each.name === key).value;
      rows.push({ seconds, processor: metric("TaskDuration"), heap: metric("JSHeapUsedSize") });
    } catch (error) {
      console.log(`${name}: ${String(error).split("\n")[0]}`);
    } finally {
      await browser.close();
    }
  }
  const size = `${(statSync(path).size / 1e6).toFixed(1)} MB`;
  for (const { seconds, processor, heap } of rows)
    console.log(
      `${name.padEnd(28)} ${size.padStart(9)}  first picture ${seconds.toFixed(2)} s, ` +
        `main thread ${processor.toFixed(2)} s, scripts ${Math.round(heap / 2 ** 20)} MiB`,
    );
}

await measure("report --html", ours, () => document.documentElement.hasAttribute("data-ready"));
await measure("_memory_viz.py trace_plot", theirs, () => document.querySelectorAll("svg path, svg polygon").length > 20);
