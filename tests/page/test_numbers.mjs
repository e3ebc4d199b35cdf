// SPDX-License-Identifier: MIT
// The numbers on the page equal those of the report and of the columns. Hostile names have no effect. Keys work.
import { check, closeBrowser, equal, recordingPage, go, open, packetOf, runTests, settle, test } from "./harness.mjs";

const flameTotal = (tab) => tab.$eval("#flame-total", (element) => Number(element.dataset.value));
const text = (tab, selector) => tab.$eval(selector, (element) => element.textContent);

function size(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  let value = bytes / 1024;
  let unit = 0;
  for (; value >= 1023.5; unit++) value /= 1024;
  return `${value.toFixed(value < 9.995 ? 2 : value < 99.95 ? 1 : 0)} ${["KiB", "MiB", "GiB"][unit]}`;
}

test("the summary has the report's peak, categories, leaks and refusals", async () => {
  const path = recordingPage("plain");
  const { report } = packetOf(path, "recording-0").header;
  const { tab } = await open(path);
  const layer = report.devices[0].layers.find((each) => each.layer === "torch");
  check((await text(tab, ".headline")).startsWith(`Peak ${size(layer.peak_bytes)} of ${size(report.devices[0].total_bytes)}`), await text(tab, ".headline"));
  const peak = report.peaks.find((each) => each.layer === "torch");
  equal(await tab.$$eval("td[data-bytes]", (cells) => cells.map((each) => Number(each.dataset.bytes))), peak.by_category.slice(0, 7).map((each) => each.bytes));
  const page = await text(tab, "main");
  for (const leak of report.leaks) check(page.includes(`${size(leak.bytes)} in ${leak.blocks} blocks`), "a leak is missing");
  check(page.includes(`${size(report.ooms[0].requested_bytes)} was refused`), "the refusal is missing");
  await tab.close();
});

test("the flame graph of the peak sums to the report's peak", async () => {
  const path = recordingPage("plain");
  const { report } = packetOf(path, "recording-0").header;
  const { tab } = await open(path, { hash: "#view=flame&metric=peak" });
  for (const layer of report.devices[0].layers) {
    await go(tab, `#view=flame&metric=peak&layer=${layer.layer}`);
    await tab.waitForFunction((wanted) => Number(document.getElementById("flame-total").dataset.value) === wanted, layer.peak_bytes, { timeout: 5000 });
    await go(tab, `#view=flame&metric=left&layer=${layer.layer}`);
    equal(await flameTotal(tab), layer.live_bytes, `${layer.layer}, left`);
  }
  await tab.close();
});

test("the flame graph of a brushed range has the sums of exactly the buckets in it", async () => {
  const path = recordingPage("plain");
  const device = packetOf(path, "device-0-0");
  const begin = device.column("0.begin_ns");
  const entries = device.column("0.entries");
  const allocated = device.column("0.entry.allocated");
  const allocs = device.column("0.entry.allocs");
  const { tab } = await open(path, { hash: "#view=timeline" });
  const box = await (await tab.$(".timeline canvas")).boundingBox();
  const y = box.y + box.height / 3;
  await tab.mouse.move(box.x + 300, y);
  await tab.mouse.down();
  await tab.mouse.move(box.x + 350, y, { steps: 4 });
  await tab.mouse.move(box.x + 420, y, { steps: 4 });
  await tab.mouse.up();
  await settle(tab);
  await tab.waitForFunction(() => /from=/.test(location.hash), null, { timeout: 5000 });
  const hash = new URLSearchParams((await tab.evaluate(() => location.hash)).slice(1));
  const [from, to] = [Number(hash.get("from")), Number(hash.get("to"))];
  check(begin.includes(from) && begin.includes(to), "the range does not begin and end with buckets");
  let [made, count, entry] = [0, 0, 0];
  begin.forEach((ns, bucket) => {
    for (let i = 0; i < entries[bucket]; i++, entry++) {
      if (ns >= from && ns < to) {
        made += allocated[entry];
        count += allocs[entry];
      }
    }
  });
  check(made > 0, "the range is empty");
  await go(tab, `#view=flame&metric=made&from=${from}&to=${to}`);
  equal(await flameTotal(tab), made, "made");
  await go(tab, `#view=flame&metric=allocs&from=${from}&to=${to}&frames=own&inverted=true`);
  equal(await flameTotal(tab), count, "allocations");
  await tab.close();
});

test("at each moment the flame graph of the cursor sums to the curve", async () => {
  const path = recordingPage("plain");
  const device = packetOf(path, "device-0-0");
  const most = device.column("0.max_bytes");
  const at = device.column("0.max_ns");
  const { tab } = await open(path, { hash: "#view=flame&metric=cursor" });
  for (const bucket of [0, 200, 401, 602, most.length - 1]) {
    await go(tab, `#view=flame&metric=cursor&cursor=${at[bucket]}`);
    equal(await flameTotal(tab), most[bucket], `bucket ${bucket}`);
  }
  await tab.close();
});

test("lines, steps, the ledger and out of memory show the report's numbers", async () => {
  const path = recordingPage("plain");
  const { report } = packetOf(path, "recording-0").header;
  const { tab } = await open(path, { hash: "#view=steps" });
  const steps = await text(tab, "main");
  for (const step of report.steps.slice(-5)) check(steps.includes(size(step.devices.find((each) => each.layer === "torch").peak_bytes)), `step ${step.index}`);
  await go(tab, "#view=ledger");
  const ledger = await text(tab, "main");
  for (const line of report.ledger[0].at_peak.lines.filter((each) => each.bytes)) check(ledger.includes(size(line.bytes)), line.name);
  await go(tab, "#view=oom");
  const oom = await text(tab, "main");
  for (const key of ["requested_bytes", "free_bytes", "cached_bytes", "largest_hole_bytes"]) check(oom.includes(size(report.ooms[0][key])), key);
  await go(tab, "#view=segments");
  const segments = await text(tab, "main");
  const peak = report.segments.find((each) => each.moment === "peak");
  // The map counts by itself: with all blocks in the page it agrees with the program.
  equal(await tab.$$eval(".fact dd", (cells) => cells.slice(0, 3).map((each) => each.textContent)), [String(peak.segments), size(peak.reserved_bytes), size(peak.allocated_bytes)]);
  check(segments.includes(size(peak.largest_hole_bytes)), "largest hole");
  await tab.close();
});

test("hostile names are text: they run nothing, ask for nothing and make no element", async () => {
  const { tab, problems } = await open(recordingPage("hostile"));
  for (const view of ["summary", "timeline", "flame", "lines", "leaks", "modules", "recordings", "recording"]) {
    await go(tab, `#view=${view}&by=line`);
    await tab.mouse.move(640, 420);
    await settle(tab);
  }
  equal(await tab.evaluate(() => [window.hacked ?? null, document.querySelectorAll("#app img, #app script, #app iframe").length]), [null, 0]);
  check(!/[\u202e\u001b]/.test(await tab.evaluate(() => document.body.innerText)), "a control character is shown");
  equal(problems, []);
  await tab.close();
});

test("all of a hostile URL is state or ignored", async () => {
  const hash = "#view=__proto__&recording=-1&device=1e9&by=constructor&axis=x&mode=y&cursor=-5&from=9e15&to=1&search=(((&root=9.9.9&filter=%3Cimg%3E&theme=%22";
  const { tab, problems } = await open(recordingPage("plain"), { hash });
  for (const view of ["timeline", "flame", "lines", "segments", "modules"]) await go(tab, `${hash.replace("__proto__", view).replace("recording=-1", "recording=0")}`);
  equal(problems, []);
  await tab.close();
});

test("keys open views, move the cursor, zoom and show help", async () => {
  const { tab, problems } = await open(recordingPage("plain"));
  for (const [key, view] of ["summary", "timeline", "flame", "lines", "leaks", "segments", "steps", "oom", "ledger"].entries()) {
    await tab.keyboard.press(String(key + 1));
    await tab.waitForSelector(`.view-${view}`);
  }
  await tab.keyboard.press("2");
  await tab.keyboard.press("p");
  await settle(tab);
  await tab.waitForFunction(() => /cursor=/.test(location.hash));
  const before = await tab.evaluate(() => location.hash);
  await tab.keyboard.press("ArrowLeft");
  await tab.keyboard.press("+");
  await tab.waitForFunction((old) => location.hash !== old && /left=/.test(location.hash), before);
  await tab.keyboard.press("?");
  await tab.waitForSelector("dialog[open]");
  await tab.keyboard.press("Escape");
  await tab.waitForSelector("dialog", { state: "detached" });
  await tab.keyboard.press("4");
  await tab.waitForSelector(".view-lines");
  await tab.keyboard.press("/");
  await tab.keyboard.type("log_metrics");
  await tab.waitForFunction(() => document.querySelectorAll("main tbody tr").length === 1);
  await tab.goBack();
  await tab.waitForSelector(".view-timeline");
  equal(problems, []);
  await tab.close();
});

test("a page of 64 recordings decodes only what it shows, and opens each of them", async () => {
  const path = recordingPage("many");
  const { tab, problems } = await open(path, { hash: "#view=recordings" });
  await tab.waitForFunction(() => document.querySelectorAll(".spark-cell .spark").length > 3);
  check((await tab.$$(".spark-cell .spark")).length < 60, "all curves were decoded at once");
  equal((await tab.$$("main tbody tr")).length, 64);
  await go(tab, "#recording=9");
  check((await text(tab, "main")).includes("the file is not a recording"), "the error is not shown");
  await go(tab, "#recording=17");
  await tab.waitForFunction(() => document.querySelector(".headline"));
  check((await text(tab, "main")).includes("Out of memory"), "recording 17 ran out of memory");
  equal(problems, []);
  await tab.close();
});

test("a packet that is cut or broken gives one line that says so, and the rest of the page works", async () => {
  const { readFileSync, writeFileSync } = await import("node:fs");
  const whole = readFileSync(recordingPage("two-recordings"), "utf8");
  const element = '<script type="application/octet-stream" id="recording-0">';
  const at = whole.indexOf(element) + element.length;
  const end = whole.indexOf("<", at);
  const broken = { cut: whole.slice(at, at + 400), empty: "", "no base64": "%%%%", missing: null };
  for (const [name, data] of Object.entries(broken)) {
    const path = recordingPage("two-recordings").replace(".html", "-broken.html");
    writeFileSync(path, data === null ? whole.replace('id="recording-0"', 'id="gone"') : whole.slice(0, at) + data + whole.slice(end));
    const { tab } = await open(path);
    equal((await tab.$$(".failure")).length, 1, name);
    await go(tab, "#recording=1");
    await tab.waitForSelector(".headline");
    await tab.close();
  }
});

test("without scripts the page shows the static summary", async () => {
  const { readFileSync, writeFileSync } = await import("node:fs");
  const path = recordingPage("plain").replace(".html", "-noscript.html");
  writeFileSync(path, readFileSync(recordingPage("plain"), "utf8").replace(/<script>[^]*<\/script>/, ""));
  const { chromium } = (await import("./harness.mjs")).load("playwright-core");
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });
  const tab = await browser.newPage({ javaScriptEnabled: false });
  await tab.goto(`file://${path}`);
  check(await tab.isVisible("#static-summary"), "the static summary is hidden");
  await browser.close();
});

await runTests();
await closeBrowser();
