// SPDX-License-Identifier: MIT
// Shared by the tests of the page: TAP output, generated pages, a browser that collects errors and requests.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";

export const here = dirname(fileURLToPath(import.meta.url));
export const [, , packages, folder] = process.argv;
export const load = createRequire(join(packages, "index.js"));

const tests = [];

/** Adds a test. Its name is the sentence that it proves. */
export const test = (name, body) => tests.push({ name, body });

export async function runTests() {
  console.log(`1..${tests.length}`);
  let failed = 0;
  for (const [at, { name, body }] of tests.entries()) {
    try {
      await body();
      console.log(`ok ${at + 1} - ${name}`);
    } catch (error) {
      failed++;
      console.log(`not ok ${at + 1} - ${name}`);
      for (const line of String(error.stack ?? error).split("\n").slice(0, 24)) console.log(`# ${line}`);
    }
  }
  process.exitCode = failed ? 1 : 0;
}

export function equal(got, wanted, what = "") {
  const [a, b] = [JSON.stringify(got), JSON.stringify(wanted)];
  if (a !== b) throw new Error(`${what}: ${a}, not ${b}`);
}

export function check(condition, what) {
  if (!condition) throw new Error(what);
}

const made = new Map();

/** Returns the path of a page with the data of a simulated run (make_recording_page.py). */
export function recordingPage(kind) {
  if (!made.has(kind)) {
    const path = join(folder, `${kind}.html`);
    execFileSync("/usr/bin/env", ["python3", join(here, "make_recording_page.py"), "--kind", kind, join(folder, "template.html"), path]);
    made.set(kind, path);
  }
  return made.get(kind);
}

/** Returns the path of a page that `gpumemtrace ranks --html` wrote for a synthetic job (make_job_page.py). */
export function jobPage(kind) {
  if (!made.has(`job ${kind}`)) {
    const path = join(folder, `job-${kind}.html`);
    execFileSync("/usr/bin/env", ["python3", join(here, "make_job_page.py"), kind, join(folder, "template.html"), path]);
    made.set(`job ${kind}`, path);
  }
  return made.get(`job ${kind}`);
}

/** Reads a data element of a page by docs/internals/page-data.md. Returns its header, and a function that reads columns. */
export function packetOf(path, id) {
  const text = new RegExp(`<script type="application/octet-stream" id="${id}">([^<]*)<`).exec(readFileSync(path, "utf8"))[1];
  const bytes = gunzipSync(Buffer.from(text, "base64"));
  const length = bytes.readUInt32LE(0);
  const header = JSON.parse(bytes.subarray(4, 4 + length).toString());
  const column = (name) => {
    const place = header.columns.find((each) => each.name === name);
    const data = bytes.subarray(4 + length + place.offset, 4 + length + place.offset + place.bytes);
    const values = [];
    let previous = 0n;
    for (let i = 0; i < place.count; i++) {
      let raw = 0n;
      for (let at = i, shift = 0n; at < data.length; at += place.count, shift += 8n) raw |= BigInt(data[at]) << shift;
      const number = (raw & 1n ? -(raw >> 1n) - 1n : raw >> 1n) * BigInt(place.unit ?? 1);
      previous = place.differences ? previous + number : number;
      values.push(Number(previous));
    }
    if (place.less !== undefined) return column(place.less).map((of, i) => of - values[i]);
    return values;
  };
  return { header, column };
}

let browser = null;

/** Opens a page. `problems` collects console errors, exceptions, and all requests except that for the file itself. */
export async function open(path, { width = 1280, height = 800, hash = "" } = {}) {
  const { chromium } = load("playwright-core");
  browser ??= await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });
  const tab = await browser.newPage({ viewport: { width, height } });
  const problems = [];
  tab.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  tab.on("pageerror", (error) => problems.push(error.message));
  tab.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(`file://${path}`) && !url.startsWith("data:")) problems.push(`request: ${url.slice(0, 200)}`);
  });
  await tab.goto(`file://${path}${hash}`);
  await tab.waitForSelector("html[data-ready]", { timeout: 20000 });
  return { tab, problems };
}

/** Goes to a state of the page, and waits until it is drawn. */
export async function go(tab, hash) {
  await tab.evaluate((to) => {
    location.hash = to;
  }, hash);
  await settle(tab);
}

/** Waits until the page has drawn its state. */
export const settle = (tab) =>
  tab.evaluate(
    () =>
      new Promise((done) => {
        let frames = 0;
        const next = () => (++frames > 6 ? done() : requestAnimationFrame(next));
        requestAnimationFrame(next);
      }),
  );

export const closeBrowser = () => browser?.close();
