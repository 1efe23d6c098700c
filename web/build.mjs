// Bundles the page into src/jumok/server/static/: what the first look needs (app), what comes later (more), the book (learn, and a script for
// each of its figures), all that an exported file holds (file), a comparison's report (report), the worker of a page without a server (worker), the words, the index page, the chapters of
// Learn and the licences.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { book, here, options, root, shorten, words, wordsApart } from "./bundle.mjs";

const BUILT = /^[a-z]+-.*\.(js|css|json|woff2)$/;
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
for (const entry of readdirSync(out)) if (BUILT.test(entry)) rmSync(join(out, entry));

const { tables, short } = shorten(await words());
const wordFiles = {};
for (const [locale, table] of Object.entries(tables)) {
  const text = JSON.stringify(table);
  wordFiles[locale] = `words-${locale}-${hashOf(text)}.json`;
  writeFileSync(join(out, wordFiles[locale]), text);
}
const kilo = (content) => (gzipSync(content, { level: 9 }).length / 1000).toFixed(1);
const put = (name, content) => writeFileSync(join(out, name), content);

// the page of the server: the first look (app and what it shares), and a script and a sheet that come later (more)
const split = { format: "esm", splitting: true, entryNames: "[name]-[hash]", chunkNames: "[name]-[hash]" };
const served = await build({ ...options, ...split, ...wordsApart(wordFiles, short), minify: true });
const { inputs, outputs } = served.metafile;
for (const { path, contents } of served.outputFiles) if (path.endsWith(".js")) put(basename(path), contents);
const reached = (start, next) => {
  const all = new Set([start]);
  for (const path of all) for (const one of next(path)) if (one.kind !== "dynamic-import") all.add(one.path);
  return [...all];
};
const scripts = reached(
  Object.keys(outputs).find((path) => outputs[path].entryPoint === "src/main.tsx"),
  (path) => outputs[path].imports,
).map((path) => basename(path));
const isSheet = (path) => path.endsWith(".css");
const early = reached("src/main.tsx", (path) => inputs[path]?.imports ?? []).filter(isSheet);
async function sheet(name, paths) {
  const stdin = { contents: paths.map((path) => `@import "./${path}";`).join(""), loader: "css", resolveDir: here };
  const apart = { loader: { ".woff2": "file" }, assetNames: "[name]-[hash]" }; // a font is a file of its own, which comes when it is used
  const files = (await build({ ...options, ...apart, entryPoints: undefined, stdin, minify: true })).outputFiles;
  for (const { path, contents } of files) if (path.endsWith(".woff2")) put(basename(path), contents);
  const { contents } = files.find(({ path }) => isSheet(path));
  put(`${name}-${hashOf(contents)}.css`, contents);
  return `${name}-${hashOf(contents)}.css`;
}
const style = await sheet("app", early);
const late = Object.keys(inputs).filter((path) => isSheet(path) && !early.includes(path));
const ofBook = (path) => path.startsWith("src/learn/");
const lateStyles = {
  more: await sheet(
    "more",
    late.filter((path) => !ofBook(path)),
  ),
  learn: await sheet("learn", late.filter(ofBook)),
};

// the pages of files: exported traces, and the report of a comparison; one script and one sheet each
for (const [name, start] of Object.entries({ file: "src/main.tsx", report: "src/report/main.tsx" })) {
  const inside = await build({ ...options, entryPoints: { [name]: start }, ...wordsApart(wordFiles, short, true), minify: true });
  for (const { path, contents } of inside.outputFiles) put(`${name}-${hashOf(contents)}.${path.split(".").pop()}`, contents);
}

// what computes on a page without a server
const [worker] = (await build({ ...options, entryPoints: { worker: "src/local/worker.ts" }, minify: true })).outputFiles;
put(`worker-${hashOf(worker.contents)}.js`, worker.contents);

const sizes = { js: 0, css: 0 };
for (const name of [...scripts, style]) sizes[name.split(".").pop()] += gzipSync(readFileSync(join(out, name)), { level: 9 }).length;
for (const name of readdirSync(out).filter((name) => BUILT.test(name)))
  console.log(`${name}  ${kilo(readFileSync(join(out, name)))} kB gzip`);
for (const [kind, size] of Object.entries(sizes))
  console.log(`first look, ${kind}: ${(size / 1000).toFixed(1)} kB gzip (limit ${LIMITS[kind] / 1000} kB)`);
const over = Object.entries(sizes).some(([kind, size]) => size > LIMITS[kind]);
const ahead = scripts
  .slice(1)
  .map((name) => `<link rel="modulepreload" href="/${name}" />\n    `)
  .join("");
const page = readFileSync(join(here, "src/index.html"), "utf8");
put(
  "index.html",
  page
    .replace("app.js", scripts[0])
    .replace("app.css", style)
    .replace(
      "<script",
      `${Object.entries(lateStyles)
        .map(([name, file]) => `<meta name="${name}-style" content="/${file}" />\n    `)
        .join("")}${ahead}<script`,
    ),
);
put("learn.json", JSON.stringify(await book()));
put("LICENSES.txt", licences(served.metafile));
if (over) {
  console.error("the page is over its size limit");
  process.exit(1);
}
