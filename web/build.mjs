// Bundles the page into src/jumok/server/static/: one script, one style sheet, the index page, the chapters of Learn and the licences.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { here, options, root, shorten, words, wordsApart } from "./bundle.mjs";

const LIMITS = { js: 90_000, css: 12_000 };

/** Text of the licences of every package whose code is in the bundle, sorted by name. */
function licences(metafile) {
  const names = new Set();
  for (const path of Object.keys(metafile.inputs)) {
    const found = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path);
    if (found) names.add(found[1]);
  }
  return [...names]
    .sort()
    .map((name) => {
      const folder = join(here, "node_modules", name);
      const card = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
      const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
      const text = file ? readFileSync(join(folder, file), "utf8").trim() : card.license;
      return `${name} ${card.version} (${card.license})\n\n${text}\n`;
    })
    .join(`\n${"-".repeat(72)}\n\n`);
}

const flag = process.argv.indexOf("--out");
const out = flag > 0 ? resolve(process.argv[flag + 1]) : join(root, "src/jumok/server/static");
const hashOf = (content) => createHash("sha256").update(content).digest("hex").slice(0, 10);

mkdirSync(out, { recursive: true });
for (const entry of readdirSync(out)) if (/^(app|words)-.*\.(js|css|json)$/.test(entry)) rmSync(join(out, entry));

const { tables, short } = shorten(await words());
const wordFiles = {};
for (const [locale, table] of Object.entries(tables)) {
  const text = JSON.stringify(table);
  wordFiles[locale] = `words-${locale}-${hashOf(text)}.json`;
  writeFileSync(join(out, wordFiles[locale]), text);
  console.log(`${wordFiles[locale]}  ${(gzipSync(text, { level: 9 }).length / 1000).toFixed(1)} kB gzip`);
}
const result = await build({ ...options, ...wordsApart(wordFiles, short), minify: true });

const names = {};
let over = false;
for (const file of result.outputFiles) {
  const kind = file.path.endsWith(".css") ? "css" : "js";
  names[kind] = `app-${hashOf(file.contents)}.${kind}`;
  writeFileSync(join(out, names[kind]), file.contents);
  const size = gzipSync(file.contents, { level: 9 }).length;
  over ||= size > LIMITS[kind];
  console.log(`${names[kind]}  ${(file.contents.length / 1000).toFixed(1)} kB, ${(size / 1000).toFixed(1)} kB gzip (limit ${LIMITS[kind] / 1000} kB)`);
}
const page = readFileSync(join(here, "src/index.html"), "utf8");
writeFileSync(join(out, "index.html"), page.replace("app.js", names.js).replace("app.css", names.css));
writeFileSync(join(out, "learn.json"), JSON.stringify(JSON.parse(readFileSync(join(here, "src/learn.json"), "utf8"))));
writeFileSync(join(out, "LICENSES.txt"), licences(result.metafile));
if (over) {
  console.error("the page is over its size limit");
  process.exit(1);
}
