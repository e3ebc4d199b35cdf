// SPDX-License-Identifier: MIT
// Each view in both themes and three widths has no error, no request, no clipped text and no overlap.
import { closeBrowser, equal, recordingPage, go, open, runTests, test } from "./harness.mjs";
import { findLayoutFaults } from "./layout_checks.mjs";

const VIEWS = ["summary", "timeline", "flame", "lines", "leaks", "segments", "steps", "oom", "ledger", "modules", "recordings", "recording"];

async function checkViews(kind, width, theme, more = "") {
  const { tab, problems } = await open(recordingPage(kind), { width, height: width < 600 ? 844 : 800 });
  const faults = [];
  for (const view of VIEWS) {
    await go(tab, `#view=${view}&theme=${theme}${more}`);
    for (const fault of await tab.evaluate(findLayoutFaults)) faults.push(`${view}: ${fault}`);
  }
  await tab.close();
  equal(problems, [], "errors and requests");
  equal(faults.slice(0, 12), [], "layout");
}

for (const theme of ["light", "dark"]) {
  for (const width of [390, 1280, 1920]) {
    test(`all views are whole in ${theme} at ${width} pixels`, () => checkViews("plain", width, theme));
  }
}

test("all views are whole with hostile names at 390 pixels", () => checkViews("hostile", 390, "light"));
test("all views are whole with hostile names at 1280 pixels", () => checkViews("hostile", 1280, "dark"));

for (const kind of ["empty", "one-event", "two-devices", "two-recordings", "many", "incomplete", "freed"]) {
  test(`all views open with the input ${kind}`, () => checkViews(kind, 1280, "light"));
}

test("the second device of two has its own views", () => checkViews("two-devices", 1280, "light", "&device=1"));

test("the timeline is whole with each grouping, axis and drawing", async () => {
  const { tab, problems } = await open(recordingPage("plain"));
  const faults = [];
  for (const by of ["category", "line", "module", "operator", "owner", "part", "phase", "layer"]) {
    for (const axis of ["time", "step", "event"]) {
      for (const mode of ["stack", "blocks", "addresses"]) {
        await go(tab, `#view=timeline&by=${by}&axis=${axis}&mode=${mode}&lines=ruc&left=1500000000&right=1700000000`);
        for (const fault of await tab.evaluate(findLayoutFaults)) faults.push(`${by} ${axis} ${mode}: ${fault}`);
      }
    }
  }
  await tab.close();
  equal([problems, faults.slice(0, 12)], [[], []]);
});

await runTests();
await closeBrowser();
