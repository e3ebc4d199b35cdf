// SPDX-License-Identifier: MIT
// usage: tests/page/run bench.mjs [PAGE.html]
//        tests/page/run bench.mjs --job KIND
//
// Measures a page in Chromium: the time until its first picture, the time of interactions, and the memory of scripts.
// Without PAGE, measures the largest page that docs/internals/page-data.md allows (make_largest_page.py). With --job,
// measures the page of a job (make_job_page.py).
import { execFileSync } from "node:child_process";
import { statSync } from "node:fs";
import { join, resolve } from "node:path";
import { folder, here, jobPage, load } from "./harness.mjs";

let page = process.argv[4] === "--job" ? jobPage(process.argv[5]) : process.argv[4] && resolve(process.argv[4]);
if (!page) {
  page = join(folder, "large.html");
  execFileSync("/usr/bin/env", ["python3", join(here, "make_largest_page.py"), join(folder, "template.html"), page]);
}
const { chromium } = load("playwright-core");
const start = Date.now();
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox", "--enable-precise-memory-info"] });
const launched = Date.now() - start;
const row = (name, value) => console.log(`${name.padEnd(44)} ${value}`);
row("page", `${(statSync(page).size / 2 ** 20).toFixed(2)} MiB`);
row("start of the browser", `${launched} ms`);
const tab = await browser.newPage({ viewport: { width: 1280, height: 800 } });
const session = await tab.context().newCDPSession(tab);
await session.send("Performance.enable");
const mainThread = async () => (await session.send("Performance.getMetrics")).metrics.find((each) => each.name === "TaskDuration").value * 1000;
async function open(name) {
  await tab.goto("about:blank");
  const before = await mainThread();
  const begin = Date.now();
  await tab.goto(`file://${page}`);
  await tab.waitForSelector("html[data-ready]", { timeout: 60000 });
  await tab.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  row(name, `${Date.now() - begin} ms`);
  row("  main thread until then", `${Math.round((await mainThread()) - before)} ms`);
}
await open("first picture, first time");
await open("first picture, again");

/** Goes to a state. Prints the longest task that the page ran for it, because the user waits for this task. */
async function act(name, hash) {
  const took = await tab.evaluate(async (to) => {
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    const tasks = [];
    const observer = new PerformanceObserver((list) => tasks.push(...list.getEntries().map((each) => each.duration)));
    observer.observe({ entryTypes: ["longtask"] });
    const begin = performance.now();
    location.hash = to;
    for (let i = 0; i < 5; i++) await frame();
    await new Promise((done) => setTimeout(done, 50));
    observer.disconnect();
    return { longest: Math.max(0, ...tasks), whole: performance.now() - begin - 50 };
  }, hash);
  row(name, took.longest ? `longest task ${Math.round(took.longest)} ms` : "each task below 50 ms");
}
/** Scrolls the enlarged map from its first to its last rank, and prints the longest time between two pictures. */
async function scroll() {
  const longest = await tab.evaluate(async () => {
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    const box = document.querySelector(".heat-scroll");
    let [before, most] = [await frame(), 0];
    for (let i = 1; i <= 100; i++) {
      box.scrollTop = (i / 100) * box.scrollHeight;
      const now = await frame();
      most = Math.max(most, now - before);
      before = now;
    }
    return most;
  });
  row("scroll all ranks in 100 pictures", `longest time of a picture ${Math.round(longest)} ms`);
}

async function actOnJob() {
  await act("difference to the median", "#show=more");
  await act("rows by peak", "#show=more&order=peak");
  await act("axis by time", "#axis=time");
  await act("select a rank", "#rank=7&step=20");
  await act("search in the table", "#filter=node1");
  await act("rows of 14 pixels", "#zoom=14");
  await scroll();
}

const isJob = (await tab.$("#job")) !== null;
const ns = (share) => Math.round(3.6e12 * share);
if (isJob) await actOnJob();
else await actOnRecording();
const heap = await tab.evaluate(() => performance.memory.usedJSHeapSize);
row("memory of scripts", `${Math.round(heap / 2 ** 20)} MiB`);
await browser.close();

async function actOnRecording() {
  await act("open the timeline", "#view=timeline&axis=time");
  await act("zoom", `#view=timeline&axis=time&left=${ns(0.3)}&right=${ns(0.4)}`);
  await act("zoom further", `#view=timeline&axis=time&left=${ns(0.33)}&right=${ns(0.35)}`);
  await act("move the cursor", `#view=timeline&axis=time&left=${ns(0.33)}&right=${ns(0.35)}&cursor=${ns(0.34)}`);
  await act("brush", `#view=timeline&axis=time&left=${ns(0.33)}&right=${ns(0.35)}&from=${ns(0.335)}&to=${ns(0.345)}`);
  await act("stack by line, first time", "#view=timeline&axis=time&by=line");
  await act("stack by category again", "#view=timeline&axis=time");
  await act("single blocks, first time", "#view=timeline&axis=time&mode=blocks");
  await act("single blocks, zoomed", `#view=timeline&axis=time&mode=blocks&left=${ns(0.3)}&right=${ns(0.31)}`);
  await act("axis by step", "#view=timeline&axis=step");
  await act("open the flame graph", "#view=flame&axis=time");
  await act("flame graph of a range", `#view=flame&axis=time&metric=made&from=${ns(0.1)}&to=${ns(0.5)}`);
  await act("flame graph of another range", `#view=flame&axis=time&metric=made&from=${ns(0.1)}&to=${ns(0.6)}`);
  await act("search", `#view=flame&axis=time&metric=made&from=${ns(0.1)}&to=${ns(0.6)}&search=function_1.*`);
  await act("open the lines", "#view=lines");
  await act("filter the lines", "#view=lines&filter=part_9");
  await act("open leaks and growth", "#view=leaks");
  await act("open the steps", "#view=steps");
  await act("open the modules", "#view=modules");
}
