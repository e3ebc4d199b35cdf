// SPDX-License-Identifier: MIT
// The view of a job: the first screen has the verdicts, the numbers equal `ranks --json`, keys and links work.
import { check, closeBrowser, equal, go, jobPage, open, packetOf, runTests, settle, test } from "./harness.mjs";
import { findContrastFaults } from "./contrast_checks.mjs";
import { findLayoutFaults } from "./layout_checks.mjs";

const MAP = ".heat canvas";
const text = (tab, selector = "main") => tab.$eval(selector, (element) => element.textContent);
const cellText = (tab) => tab.$eval(MAP, (canvas) => canvas.getAttribute("aria-valuetext"));
const hashOf = async (tab) => new URLSearchParams((await tab.evaluate(() => location.hash)).slice(1));

function size(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  let value = bytes / 1024;
  let unit = 0;
  for (; value >= 1023.5; unit++) value /= 1024;
  return `${value.toFixed(value < 9.995 ? 2 : value < 99.95 ? 1 : 0)} ${["KiB", "MiB", "GiB", "TiB"][unit]}`;
}

/** Waits until a key of the URL has another value, and returns this value. */
async function nextOf(tab, key, before) {
  await tab.waitForFunction(([name, value]) => new URLSearchParams(location.hash.slice(1)).get(name) !== value, [key, before], { timeout: 5000 });
  return (await hashOf(tab)).get(key);
}

/** Returns the colour [red, green, blue] of the map at a share of its width (`x`), in the row of a rank. */
const colorAt = (tab, x, row, rows) =>
  tab.$eval(MAP, (canvas, [part, at, all]) => {
    const ratio = canvas.width / canvas.clientWidth;
    const marks = canvas.clientWidth >= 520 ? 148 : 12;
    const left = 56 + part * (canvas.clientWidth - 56 - marks);
    const top = 4 + ((at + 0.5) / all) * (canvas.clientHeight - 28);
    return [...canvas.getContext("2d").getImageData(Math.round(left * ratio), Math.floor(top * ratio), 1, 1).data.slice(0, 3)];
  }, [x, row, rows]);
const apart = (a, b) => Math.abs(a[0] - b[0]) + Math.abs(a[1] - b[1]) + Math.abs(a[2] - b[2]);

/** Returns the position of a cell in the window. */
const cellPlace = (tab, x, row, rows) =>
  tab.$eval(MAP, (canvas, [part, at, all]) => {
    const box = canvas.getBoundingClientRect();
    const marks = box.width >= 520 ? 148 : 12;
    return [box.left + 56 + part * (box.width - 56 - marks), box.top + 4 + ((at + 0.5) / all) * (box.height - 28)];
  }, [x, row, rows]);

test("the first screen of 4,096 ranks names the missing rank, the one that grows and the stage that holds more", async () => {
  const { tab, problems } = await open(jobPage("large"), { width: 1280, height: 800 });
  equal(await text(tab, "h1"), "Rank 3071 is missing; rank 1234 grows by 8.00 MiB a step; 512 ranks hold 1.50 GiB more");
  check((await text(tab, ".job-head p")).endsWith("4,095 of 4,096 ranks on 512 hosts, 100 steps"), "the title");
  const verdicts = await text(tab, ".verdicts");
  for (const wanted of ["rank 3071: no file", "rank 1234: 4.03 GiB, +800 MiB", "512 ranks (1536-2047): 4.75 GiB, +1.50 GiB", "train.py:32 in keep", "model.py:100 in build_layer0"]) {
    check(verdicts.includes(wanted), wanted);
  }
  for (const selector of ["h1", ".verdicts", ".heat-scroll", ".heat-legend"]) {
    const box = await (await tab.$(selector)).boundingBox();
    check(box.y >= 0 && box.y + box.height <= 800, `${selector} ends at ${box.y + box.height}`);
  }
  equal(problems, []);
  await tab.close();
});

// In a window of this height, the leaking rank is in the middle of the ranks that share its line.
test("the map shows one leaking rank of 4,096, the stage, and a row for the missing rank", async () => {
  const { tab } = await open(jobPage("large"), { width: 1280, height: 720 });
  await settle(tab);
  const usual = await colorAt(tab, 0.99, 300, 4096);
  check(apart(usual, await colorAt(tab, 0.99, 900, 4096)) === 0, "two usual ranks differ");
  check(apart(usual, await colorAt(tab, 0.5, 1800, 4096)) > 200, "the stage has the usual colour");
  // The lines next to it, too: rounding may move it by one.
  const leak = [];
  for (const row of [1226, 1234, 1242]) leak.push(apart(usual, await colorAt(tab, 0.99, row, 4096)));
  check(Math.max(...leak) > 100, `the leaking rank is not to be seen: ${leak}`);
  const missing = [];
  for (const x of [0.3, 0.301, 0.302, 0.303, 0.304, 0.305, 0.306]) missing.push(apart(usual, await colorAt(tab, x, 3071, 4096)));
  check(Math.max(...missing) > 100 && Math.min(...missing) < 60, `no dotted line for the missing rank: ${missing}`);
  await tab.close();
});

test("a cell has the numbers of the program: peak, end, median and difference", async () => {
  const path = jobPage("large");
  const job = packetOf(path, "job");
  const [steps, peak, end] = ["rank.steps", "step.peak_bytes", "step.end_bytes"].map(job.column);
  const begin = steps.reduce((all, count) => [...all, all[all.length - 1] + count], [0]);
  const { tab } = await open(path);
  for (const [rank, step] of [[0, 0], [1234, 57], [1234, 99], [1800, 3], [4095, 99]]) {
    await go(tab, `#rank=${rank}&step=${step}`);
    const index = rank > 3071 ? rank - 1 : rank;
    const at = begin[index] + step;
    const column = steps.map((_, each) => peak[begin[each] + step]).sort((a, b) => a - b);
    const median = column[(column.length - 1) >> 1];
    const more = peak[at] - median;
    const found = await cellText(tab);
    equal(found.replace(/^.*?step/, "step"), `step ${step} peak ${size(peak[at])}, held at its end ${size(end[at])}, median of all ranks ${size(median)}, difference ${more > 0 ? `+${size(more)}` : "0 B"}`);
  }
  await tab.close();
});

test("the verdicts and tables have the numbers of ranks --json", async () => {
  const path = jobPage("eight");
  const { ranks } = packetOf(path, "job").header;
  const { tab, problems } = await open(path);
  const page = await text(tab);
  check(page.includes(`${size(ranks.peaks.min_bytes)} to ${size(ranks.peaks.max_bytes)}, median ${size(ranks.peaks.median_bytes)}`), "peaks");
  check(page.includes(`job ${size(ranks.sum_peak_bytes)}`), "sum");
  check(page.includes(`asked for ${size(ranks.ranks[4].first_failure.requested_bytes)}`), "out of memory");
  check(page.includes(`${ranks.out_of_memory.others_held.ranks} others held ${size(ranks.out_of_memory.others_held.min_bytes)}`), "the others");
  const cells = await tab.$$eval(".rank-table tbody tr", (rows) => rows.map((row) => row.children[2].textContent));
  equal(cells, ranks.ranks.map((rank) => size(rank.peak_bytes)));
  for (const host of ranks.hosts) check((await text(tab, ".rank-sums")).includes(size(host.sum_peak_bytes)), host.host);
  equal(problems, []);
  await tab.close();
});

test("keys choose rank and step, go to ranks that stand out, and the URL names the cell", async () => {
  const { tab } = await open(jobPage("eight"));
  await tab.focus(MAP);
  const press = async (key, rank, step) => {
    await tab.keyboard.press(key);
    await tab.waitForFunction(([r, s]) => {
      const found = new URLSearchParams(location.hash.slice(1));
      return found.get("rank") === r && found.get("step") === s;
    }, [rank, step], { timeout: 5000 });
  };
  await press("ArrowDown", "0", "0");
  await press("ArrowDown", "1", "0");
  await press("ArrowRight", "1", "1");
  await press("Shift+ArrowRight", "1", "11");
  await press("n", "2", "11");
  await press("n", "4", "11");
  await press("Shift+N", "2", "11");
  await press("End", "7", "11");
  check((await cellText(tab)).startsWith("rank 7: host node1, step 11 peak"), await cellText(tab));
  check((await text(tab, ".selected-rank")).includes("rank 7 on node1"), "the panel");
  await tab.keyboard.press("Escape");
  equal(await nextOf(tab, "rank", "7"), null);
  await tab.close();
});

test("a click selects a rank, and its own views open by a double click, the button, Enter and the table", async () => {
  const path = jobPage("eight");
  const number = packetOf(path, "job").column("rank.recording")[5];
  const { tab, problems } = await open(path);
  const [x, y] = await cellPlace(tab, 0.5, 5, 8);
  const opens = async (action) => {
    await go(tab, "#view=ranks&rank=5&step=30");
    await action();
    equal(await nextOf(tab, "view", "ranks"), "summary");
    await tab.waitForSelector(".hero");
    equal((await hashOf(tab)).get("recording"), number === 0 ? null : String(number));
    check((await text(tab, ".title")).includes("rank 5"), "the recording of another rank");
  };
  await tab.mouse.click(x, y);
  equal(await nextOf(tab, "rank", null), "5");
  await opens(() => tab.click(".open-rank"));
  await opens(() => tab.mouse.dblclick(x, y));
  await opens(async () => {
    await tab.focus(MAP);
    await tab.keyboard.press("Enter");
  });
  await opens(() => tab.click(".rank-table tbody tr:nth-child(6) >> text=Open"));
  await tab.keyboard.press("r");
  await tab.waitForSelector(".verdicts");
  equal(problems, []);
  await tab.close();
});

test("the back button returns from a rank to the job", async () => {
  const { tab } = await open(jobPage("eight"), { hash: "#rank=5" });
  await tab.click(".open-rank");
  await tab.waitForSelector(".hero");
  await tab.goBack();
  await tab.waitForSelector(".verdicts");
  check((await text(tab, ".selected-rank")).includes("rank 5"), "the selection is gone");
  await tab.close();
});

test("for a rank without data in the page, the page says the command that makes it", async () => {
  const path = jobPage("many");
  const numbers = packetOf(path, "job").column("rank.recording");
  const without = numbers.indexOf(-1);
  check(without >= 0 && numbers[7] >= 0, `${numbers}`);
  const { tab } = await open(path, { hash: `#rank=${without}` });
  equal(await text(tab, ".selected-rank .way code"), `gpumemtrace report --html job/train.r${without}.gmt.gz`);
  await go(tab, "#rank=7");
  check((await text(tab, ".selected-rank")).includes("Open the views of rank 7"), "no button");
  await tab.close();
  const summaries = await open(jobPage("large"), { hash: "#rank=1234" });
  check((await text(summaries.tab, ".selected-rank")).includes("Only the rank's summary was read"), "the summary");
  equal(await summaries.tab.$$(".tab:visible"), []);
  await summaries.tab.close();
});

test("the table is searched and sorted, and a row has the lines that make the difference", async () => {
  const { tab } = await open(jobPage("large"));
  const first = () => tab.$eval(".rank-table tbody tr td", (cell) => cell.textContent.trim());
  equal(await first(), "1234");
  await tab.keyboard.press("/");
  await tab.keyboard.type("node192");
  await tab.waitForFunction(() => document.querySelectorAll(".rank-table tbody tr").length === 8);
  await tab.click(".rank-table th >> text=Rank");
  equal(await first(), "1536");
  await go(tab, "#filter=grows");
  equal(await tab.$$eval(".rank-table tbody tr", (rows) => rows.length), 1);
  await tab.click(".rank-table .toggle");
  check((await text(tab, ".rank-table tr.detail")).includes("train.py:32 in keep"), "no line");
  await go(tab, "#filter=nothing-has-this");
  check((await text(tab, ".rank-table")).includes("No rank fits"), "no hint");
  await tab.close();
});

test("rows are ordered, enlarged and scrolled, and a link restores the picture", async () => {
  const { tab } = await open(jobPage("large"), { hash: "#zoom=14&rank=4000&step=5" });
  await settle(tab);
  const top = await tab.$eval(".heat-scroll", (box) => box.scrollTop);
  check(top > 3900 * 14 && top < 4000 * 14, `scrolled to ${top}`);
  check((await cellText(tab)).startsWith("rank 4000: host node500, step 5 peak 3.25 GiB"), await cellText(tab));
  await tab.selectOption(".heat-controls label:nth-of-type(2) select", "peak");
  equal(await nextOf(tab, "order", null), "peak");
  await go(tab, "#order=peak&show=more");
  const [most, least] = [await colorAt(tab, 0.5, 100, 4096), await colorAt(tab, 0.5, 3000, 4096)];
  check(apart(most, least) > 200, "the order by peak");
  await go(tab, "#zoom=14&theme=dark");
  await tab.$eval(".heat-scroll", (box) => (box.scrollTop = box.scrollHeight));
  await settle(tab);
  const box = await (await tab.$(MAP)).boundingBox();
  await tab.mouse.move(box.x + 100, box.y + box.height - 40);
  check((await text(tab, ".tip")).startsWith("rank 409"), await text(tab, ".tip"));
  await tab.close();
});

test("the tip of a line that stands for several ranks is about the one that differs most", async () => {
  const { tab } = await open(jobPage("large"), { width: 1280, height: 720 });
  const found = new Set();
  for (const row of [1226, 1234, 1242]) {
    const [x, y] = await cellPlace(tab, 0.9, row, 4096);
    await tab.mouse.move(x, y);
    found.add((await text(tab, ".tip-title")).trim());
  }
  check(found.has("rank 1234"), [...found].join());
  await tab.close();
});

test("ranks without steps are shown by time, and jobs without a difference say so", async () => {
  const stepless = await open(jobPage("stepless"));
  equal((await text(stepless.tab, "main")).includes("The most that the rank held in the stretch of time"), true);
  equal(await stepless.tab.$$eval('.choice[aria-label="Axis"]', (all) => all.length), 0);
  await go(stepless.tab, "#rank=4&step=999999999999");
  check(/peak 20\.0 MiB/.test(await cellText(stepless.tab)), await cellText(stepless.tab));
  await stepless.tab.close();
  const alike = await open(jobPage("alike"));
  check((await text(alike.tab, "h1")).startsWith("All 4 ranks hold about the same: "), await text(alike.tab, "h1"));
  await alike.tab.close();
});

for (const kind of ["one", "empty", "processes", "stepless", "alike", "many"]) {
  test(`the page of the job ${kind} is whole`, async () => {
    const { tab, problems } = await open(jobPage(kind));
    const faults = await tab.evaluate(findLayoutFaults);
    for (const show of ["peak", "end", "more", "reserved", "used"]) await go(tab, `#show=${show}&order=group&axis=time&zoom=4`);
    equal([faults, problems], [[], []]);
    await tab.close();
  });
}

for (const theme of ["light", "dark"]) {
  for (const width of [390, 1280, 1920]) {
    test(`the view is whole and readable in ${theme} at ${width} pixels`, async () => {
      for (const [kind, hash] of [["large", "&rank=1234&step=50"], ["eight", "&rank=4&step=50&show=more"], ["hostile", "&rank=3"]]) {
        const { tab, problems } = await open(jobPage(kind), { width, height: width < 600 ? 844 : 800, hash: `#theme=${theme}${hash}` });
        await settle(tab);
        equal([await tab.evaluate(findLayoutFaults), await tab.evaluate(findContrastFaults, false), problems], [[], [], []], kind);
        await tab.close();
      }
    });
  }
}

test("hostile names are text: they run nothing, ask for nothing and make no element", async () => {
  const { tab, problems } = await open(jobPage("hostile"), { hash: "#rank=3&filter=rank" });
  equal(await tab.$$eval("main img, main b, main script", (found) => found.length), 0);
  check(!/[\u202a-\u202e]/.test(await text(tab)), "a character that turns the text");
  await tab.click(".rank-table .toggle");
  const box = await (await tab.$(MAP)).boundingBox();
  await tab.mouse.move(box.x + 120, box.y + 20);
  await settle(tab);
  equal(await tab.$$eval(".tip img, .tip b", (found) => found.length), 0);
  await go(tab, "#view=ranks&rank=%3Cimg%3E&show=%3Cb%3E&order=constructor&zoom=-5&step=1e300&axis=__proto__");
  equal(problems, []);
  await tab.close();
});

test("the colours change with the theme, and each scale gets darker or lighter from end to end", async () => {
  const { tab } = await open(jobPage("large"));
  const light = ([r, g, b]) => 0.2126 * r + 0.7152 * g + 0.0722 * b;
  const scale = () => tab.$eval(".heat-legend canvas", (canvas) => {
    const y = Math.round(5 * (canvas.width / canvas.clientWidth));
    return [0.02, 0.25, 0.5, 0.75, 0.97].map((part) => [...canvas.getContext("2d").getImageData(Math.round(part * canvas.width), y, 1, 1).data.slice(0, 3)]);
  });
  for (const theme of ["light", "dark"]) {
    await go(tab, `#theme=${theme}`);
    const up = (await scale()).map(light);
    const sorted = [...up].sort((a, b) => (theme === "dark" ? a - b : b - a));
    equal(up, sorted, theme);
    await go(tab, `#theme=${theme}&show=more`);
    const sides = (await scale()).map(light);
    const far = (at) => Math.abs(sides[at] - sides[2]);
    check(far(0) > far(1) && far(1) > 15 && far(4) > far(3) && far(3) > 15, `${theme}: ${sides}`);
  }
  await tab.close();
});

await runTests();
await closeBrowser();
