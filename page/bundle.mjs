// SPDX-License-Identifier: MIT
// Bundles page/src and writes the template. Usage: node bundle.mjs NODE_MODULES OUTPUT.html
import { createHash } from "node:crypto";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const [packages, output] = process.argv.slice(2);
const esbuild = createRequire(join(packages, "index.js"))("esbuild");

async function bundle(entry) {
  const result = await esbuild.build({
    entryPoints: [join(here, "src", entry)],
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: "iife",
    target: ["chrome103", "firefox113", "safari16.4"],
    charset: "ascii",
    legalComments: "none",
    nodePaths: [packages],
    logLevel: "warning",
    outfile: "out" + entry.slice(entry.lastIndexOf(".")),
  });
  return { text: result.outputFiles[0].text.trim(), inputs: Object.keys(result.metafile.inputs) };
}

// Returns the license texts of the npm packages that the bundle contains.
function notices(inputs) {
  const names = new Set();
  for (const input of inputs) {
    const found = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (found) names.add(found[1]);
  }
  return [...names].sort().map((name) => {
    const folder = join(packages, name);
    const version = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")).version;
    const file = ["LICENSE", "LICENSE.md", "LICENSE.txt"].map((each) => join(folder, each)).find(existsSync);
    if (!file) throw new Error(`${name}: no license text`);
    return `${name} ${version}\n\n${readFileSync(file, "utf8").trim()}`;
  });
}

const hash = (text) => `'sha256-${createHash("sha256").update(text, "utf8").digest("base64")}'`;

/**
 * Returns the style with the rule of the dark theme a second time: for systems that are dark, unless the user chose the
 * light theme. CSS cannot say both with one rule.
 */
function withDarkSystem(text) {
  const rule = /:root\[data-theme="?dark"?\](\{[^}]*\})/.exec(text);
  if (!rule) throw new Error("the style has no rule for the dark theme");
  const system = `@media (prefers-color-scheme:dark){:root:not([data-theme=light])${rule[1]}}`;
  const end = rule.index + rule[0].length;
  return text.slice(0, end) + system + text.slice(end);
}

const script = await bundle("main.ts");
const style = await bundle("style/main.css");
style.text = withDarkSystem(style.text);
if (/<\/script|<!--/i.test(script.text) || /<\/style/i.test(style.text)) {
  throw new Error("the bundle would end its own element");
}
const policy = [
  "default-src 'none'",
  `script-src ${hash(script.text)}`,
  `style-src ${hash(style.text)}`,
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");
const others = notices([...script.inputs, ...style.inputs]);
const parts = {
  policy,
  style: style.text,
  script: script.text,
  notices: others.length ? "\nParts of other projects in this page:\n\n" + others.join("\n\n").replace(/--/g, "- -") : "",
};
const page = readFileSync(join(here, "src", "template.html"), "utf8").replace(/\{\{(\w+)\}\}/g, (_, name) => parts[name]);
// A build that fails leaves no half template.
writeFileSync(output + ".unfinished", page);
renameSync(output + ".unfinished", output);
