// SPDX-License-Identifier: MIT
// The page is usable: views agree on each leak, empty views say why, keys work, text has contrast, names stay readable.
import { findContrastFaults } from "./contrast_checks.mjs";
import { check, closeBrowser, equal, recordingPage, go, open, packetOf, runTests, settle, test } from "./harness.mjs";

const text = (tab, selector = "main") => tab.$eval(selector, (element) => element.textContent);
const hashOf = async (tab) => new URLSearchParams((await tab.evaluate(() => location.hash)).slice(1));

/** Waits until the URL has another value of `key`, and returns it. The page writes the URL a moment after a change. */
async function nextOf(tab, key, before) {
  await tab.waitForFunction(([name, old]) => new URLSearchParams(location.hash.slice(1)).get(name) !== old, [key, before], { timeout: 5000 });
  return (await hashOf(tab)).get(key);
}

function size(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  let value = bytes / 1024;
  let unit = 0;
  for (; value >= 1023.5; unit++) value /= 1024;
  return `${value.toFixed(value < 9.995 ? 2 : value < 99.95 ? 1 : 0)} ${["KiB", "MiB", "GiB"][unit]}`;
}

test("summary, leaks, growth, lines and flame graph show the same size of a leak", async () => {
  const path = recordingPage("freed");
  const { report } = packetOf(path, "recording-0").header;
  check(report.leaks.length > 0, "the run has no leak");
  const { tab, problems } = await open(path);
  for (const leak of report.leaks) {
    const line = `train.py:${leak.stack[leak.own_frame].line}`;
    const kept = size(leak.bytes);
    await go(tab, "#view=summary");
    const item = await tab.$$eval(".findings li", (items, at) => items.map((each) => each.textContent).find((each) => each.includes(at)), line);
    check(item.includes(kept), `summary: ${item}`);
    await go(tab, "#view=leaks");
    const rows = await tab.$$eval("main tbody tr", (found, at) => found.filter((each) => each.textContent.includes(at)).map((each) => each.textContent), line);
    check(rows.length === 1 && rows[0].includes(kept), `growth: ${rows}`);
    await go(tab, "#view=lines");
    const tag = await tab.$$eval("main tbody tr", (found, at) => found.find((each) => each.textContent.includes(at)).querySelector(".tag").textContent, line);
    equal(tag, `leak: ${kept} in ${leak.blocks} blocks`);
    await go(tab, `#view=flame&metric=last&search=${encodeURIComponent(line)}$`);
    const found = await text(tab, ".flame-head");
    check(found.includes(`found: ${kept}`), `flame graph: ${found}`);
  }
  equal(problems, []);
  await tab.close();
});

test("after the last step, the flame graph, the lines and the steps have the report's total", async () => {
  const path = recordingPage("freed");
  const { report } = packetOf(path, "recording-0").header;
  const counted = report.steps.at(-1).devices.find((each) => each.layer === "torch").end_live_bytes;
  const { tab } = await open(path, { hash: "#view=flame&metric=last" });
  equal(await tab.$eval("#flame-total", (element) => Number(element.dataset.value)), counted);
  await go(tab, "#view=modules&metric=left");
  check((await text(tab, ".nothing")).includes(size(counted)), "the offer has another number");
  await go(tab, "#view=steps&sort=");
  check((await text(tab)).includes(size(counted)), "steps");
  await tab.close();
});

test("where nothing is live at the end, the page says why and offers another moment", async () => {
  const { tab, problems } = await open(recordingPage("freed"), { hash: "#view=flame&metric=left" });
  const reason = await text(tab, ".nothing");
  check(/the last block was freed .* after the last step/.test(reason), reason);
  await tab.click(".nothing button:first-of-type");
  await tab.waitForFunction(() => Number(document.getElementById("flame-total").dataset.value) > 0);
  equal(await nextOf(tab, "metric", "left"), "last");
  await go(tab, "#view=lines");
  check((await text(tab)).includes("Nothing of PyTorch is live at the end"), "lines");
  check(!(await tab.$$eval("main th", (heads) => heads.map((each) => each.textContent))).includes("At the end"), "a column of zeros");
  for (const [view, metric] of [["modules", "left"], ["segments", ""]]) {
    await go(tab, `#view=${view}&metric=${metric}&cursor=9e15`);
    check((await tab.$$(".nothing button")).length > 0, `${view} offers nothing`);
  }
  equal(problems, []);
  await tab.close();
});

test("the summary says how well the device is used, with the program's numbers", async () => {
  const path = recordingPage("plain");
  const { report } = packetOf(path, "recording-0").header;
  const { tab } = await open(path);
  const usage = await text(tab, ".usage");
  const peak = report.segments.find((each) => each.moment === "peak");
  const wanted = [report.ledger[0].at_peak.used_bytes, report.devices[0].total_bytes, peak.reserved_bytes - peak.allocated_bytes, peak.hole_bytes];
  for (const bytes of wanted) check(usage.includes(size(bytes)), `${size(bytes)} is not in: ${usage}`);
  await tab.click(".usage button");
  await tab.waitForSelector(".view-segments");
  await tab.close();
  const second = await open(recordingPage("one-event"));
  check(!(await text(second.tab)).includes("cached by PyTorch and unused"), "a recording without segments has none");
  await second.tab.close();
});

test("a line number is never cut, a path loses its front", async () => {
  for (const [width, hash, selector] of [[1280, "#view=timeline&by=line", ".legend .path"], [390, "#view=leaks", "main .path"], [390, "#view=lines", "main .path"], [390, "#view=oom", "main .path"]]) {
    const { tab } = await open(recordingPage("plain"), { width, hash });
    await tab.$$eval(selector, (paths) => paths.forEach((each) => each.querySelector("bdi")?.append("a/very/long/folder/that/does/not/fit/anywhere/at/all/")));
    const lines = await tab.$$(`${selector} .path-line`);
    check(lines.length > 0, `no path in ${hash}`);
    const cut = await tab.$$eval(selector, (paths) => paths.filter((each) => {
      const line = each.querySelector(".path-line")?.getBoundingClientRect();
      if (!line || each.getClientRects().length === 0) return false;
      let box = each.parentElement;
      while (getComputedStyle(box).overflowX === "visible" && box !== document.body) box = box.parentElement;
      return line.width < 8 || line.right > box.getBoundingClientRect().right + 1 || each.querySelector(".path-file").scrollWidth > each.querySelector(".path-file").clientWidth + 1;
    }).map((each) => each.textContent));
    equal(cut, [], `${hash} at ${width}`);
    await tab.close();
  }
});

test("the height of the timeline fits what is visible, and a key keeps the full height", async () => {
  const path = recordingPage("plain");
  const { report } = packetOf(path, "recording-0").header;
  const first = report.steps[0];
  const { tab } = await open(path, { hash: "#view=timeline&axis=time" });
  const most = () => tab.$eval(".timeline", (element) => Number(element.dataset.most));
  const whole = await most();
  check(whole >= report.devices[0].layers.find((each) => each.layer === "torch").peak_bytes, "the whole picture");
  await go(tab, `#view=timeline&axis=time&left=1&right=${first.begin_ns - 100_000_000}`);
  const fits = await most();
  check(fits < whole / 2, `${fits} of ${whole}`);
  await tab.keyboard.press("y");
  await settle(tab);
  equal(await most(), whole);
  await tab.close();
});

test("an arrow key moves the cursor by one step on the axis of steps, with Shift by ten", async () => {
  const path = recordingPage("plain");
  const { report } = packetOf(path, "recording-0").header;
  const stepOf = (ns) => report.steps.find((each) => ns >= each.begin_ns && ns <= each.end_ns)?.index;
  const start = report.steps[12];
  const { tab } = await open(path, { hash: `#view=timeline&axis=step&cursor=${start.begin_ns + 1_000_000}` });
  let cursor = (await hashOf(tab)).get("cursor");
  for (const [key, step] of [["ArrowRight", 13], ["ArrowRight", 14], ["ArrowLeft", 13], ["Shift+ArrowRight", 23], ["Shift+ArrowLeft", 13]]) {
    await tab.keyboard.press(key);
    cursor = await nextOf(tab, "cursor", cursor);
    equal(stepOf(Number(cursor)), step, key);
  }
  await tab.close();
});

test("bars are reached by the tab key, have names, and choose a range by Enter", async () => {
  const path = recordingPage("plain");
  const { report } = packetOf(path, "recording-0").header;
  const { tab, problems } = await open(path, { hash: "#view=steps" });
  for (let i = 0; i < 60 && (await tab.evaluate(() => document.activeElement.getAttribute("role"))) !== "slider"; i++) await tab.keyboard.press("Tab");
  const value = () => tab.evaluate(() => document.activeElement.getAttribute("aria-valuetext"));
  check((await value()).startsWith(`step ${report.steps[0].index}: peak ${size(report.steps[0].devices.find((each) => each.layer === "torch").peak_bytes)}`), await value());
  await tab.keyboard.press("ArrowRight");
  await tab.keyboard.press("ArrowRight");
  check((await value()).startsWith(`step ${report.steps[2].index}:`), await value());
  equal((await hashOf(tab)).get("cursor"), null, "the arrow key moved the cursor too");
  await tab.keyboard.press("Enter");
  equal(Number(await nextOf(tab, "from", null)), report.steps[2].begin_ns);
  await go(tab, "#view=leaks");
  equal((await tab.$$('main canvas[role="slider"][tabindex="0"]')).length, report.leaks.filter((each) => each.attribution.length > 0).length);
  equal(problems, []);
  await tab.close();
});

test("on a narrow screen lines are cards with the names of their columns; else a hint says that there are more", async () => {
  const { tab } = await open(recordingPage("plain"), { width: 390, hash: "#view=lines" });
  const faults = await tab.$$eval("main .scroll-x", (boxes) => boxes.filter((each) => each.scrollWidth > each.clientWidth + 1).length);
  equal(faults, 0, "a table is wider than the screen");
  const label = await tab.$eval("main tbody td[data-label]", (cell) => getComputedStyle(cell, "::before").content);
  equal(label, '"At the peak"');
  await tab.selectOption(".table-sort select", "name");
  equal(await nextOf(tab, "sort", null), "name");
  await tab.setViewportSize({ width: 1000, height: 800 });
  await settle(tab);
  check(await tab.isVisible(".scroll-hint"), "no hint at 1000 pixels");
  await tab.$eval("main .scroll-x", (box) => (box.scrollLeft = box.scrollWidth));
  await settle(tab);
  check(!(await tab.isVisible(".scroll-hint")), "the hint stays at the last column");
  await tab.close();
});

test("the flame graph begins with Python frames, and one click shows native ones", async () => {
  const { tab } = await open(recordingPage("plain"), { hash: "#view=flame" });
  const frames = async () => {
    await tab.$eval("main details", (box) => (box.open = true));
    await tab.waitForSelector("main details tbody tr");
    return tab.$$eval("main details tbody tr", (rows) => rows.map((each) => each.textContent));
  };
  const total = await tab.$eval("#flame-total", (element) => element.dataset.value);
  check(!(await frames()).some((each) => each.includes("at::_ops")), "native frames are shown at first");
  await tab.click("text=Show native frames");
  await tab.waitForFunction(() => document.querySelector('.choice [aria-pressed="true"] ~ *, .choice') && /frames=all/.test(location.hash));
  check((await frames()).some((each) => each.includes("at::_ops")), "native frames are missing");
  equal(await tab.$eval("#flame-total", (element) => element.dataset.value), total);
  await tab.close();
});

test("the flame graph of a range is the same after other ranges were shown", async () => {
  const path = recordingPage("plain");
  const { report } = packetOf(path, "recording-0").header;
  const { tab } = await open(path);
  const range = (step) => `#view=flame&metric=made&from=${report.steps[step].begin_ns}&to=${report.steps[step].end_ns}`;
  const table = async () => {
    await tab.$eval("main details", (box) => (box.open = true));
    await settle(tab);
    return tab.$$eval("main details tbody tr", (rows) => rows.map((each) => each.textContent));
  };
  await go(tab, range(30));
  const fresh = await table();
  for (const step of [2, 9, 31]) await go(tab, range(step));
  check(JSON.stringify(await table()) !== JSON.stringify(fresh), "the ranges do not differ");
  await go(tab, range(30));
  equal(await table(), fresh);
  await tab.close();
});

for (const theme of ["light", "dark"]) {
  test(`text has enough contrast in ${theme}${theme === "dark" ? ", and areas" : ""}`, async () => {
    const { tab } = await open(recordingPage("plain"));
    const faults = [];
    for (const view of ["summary", "timeline", "flame", "lines", "leaks", "segments", "steps", "oom", "ledger", "modules", "recordings", "recording"]) {
      await go(tab, `#view=${view}&theme=${theme}&by=line`);
      for (const fault of await tab.evaluate(findContrastFaults, theme === "dark")) faults.push(`${view}: ${fault}`);
    }
    await tab.close();
    equal(faults.slice(0, 10), []);
  });
}

test("a dark system has the colours of the dark theme, unless the user chose the light one", async () => {
  const { tab } = await open(recordingPage("plain"));
  const surface = () => tab.evaluate(() => getComputedStyle(document.documentElement).getPropertyValue("--surface"));
  const light = await surface();
  await go(tab, "#theme=dark");
  const dark = await surface();
  check(light !== dark, "the themes do not differ");
  await tab.emulateMedia({ colorScheme: "dark" });
  await go(tab, "#view=summary");
  equal(await surface(), dark);
  await go(tab, "#theme=light");
  equal(await surface(), light);
  await tab.close();
});

test("categories and layers are explained where they are shown", async () => {
  const path = recordingPage("plain");
  const { report } = packetOf(path, "recording-0").header;
  const { tab } = await open(path);
  const names = report.peaks.find((each) => each.layer === "torch").by_category.map((each) => each.name);
  equal(await tab.$$eval(".card .meanings dt", (terms) => terms.map((each) => each.textContent)), names);
  check((await tab.$$eval(".legend-item[title]", (items) => items.map((each) => each.title))).some((each) => each.startsWith("workspace: ")), "workspace has no title");
  await go(tab, "#view=timeline&by=layer");
  equal((await tab.$$(".legend-box .meanings dt")).length, 2);
  await tab.close();
});

test("views without content say what would be there, and their tabs are less prominent", async () => {
  const { tab } = await open(recordingPage("freed"), { hash: "#view=recordings" });
  check((await text(tab)).includes("gpumemtrace report --html=job.html"), "no command");
  await go(tab, "#view=oom");
  check((await text(tab)).includes("If CUDA refuses a request"), "no explanation");
  equal(await tab.$$eval(".tab.is-empty", (tabs) => tabs.map((each) => each.dataset.view)), ["oom", "recordings"]);
  await tab.close();
});

test("segments are apart by pool, and the refused request is next to the holes of its pool", async () => {
  const path = recordingPage("plain");
  const { report } = packetOf(path, "recording-0").header;
  const { tab } = await open(path, { hash: "#view=segments" });
  const page = await text(tab);
  const { stats } = report.allocator[0];
  for (const pool of ["large_pool", "small_pool"]) check(page.includes(size(stats.reserved_bytes[pool].peak)), pool);
  check(new RegExp(`The refused request of ${size(report.ooms[0].requested_bytes)} .* large pool`).test(page), "the refused request");
  await go(tab, "#view=recording");
  const recorder = await text(tab);
  check(recorder.includes("stacks=all") && recorder.includes("12.9 ms"), "options and cost of the recorder");
  await tab.close();
});

await runTests();
await closeBrowser();
