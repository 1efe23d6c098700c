// One place that says how the page is bundled, for the build, the development server and the tests.
import { build } from "esbuild";
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

export const here = dirname(fileURLToPath(import.meta.url));
export const root = resolve(here, "..");

/** Options shared by every bundle of the page: nothing remote. As they stand they make one script and one style sheet. */
export const options = {
  absWorkingDir: here,
  entryPoints: { app: "src/main.tsx" },
  bundle: true,
  format: "iife",
  target: ["es2022", "chrome111", "firefox121", "safari17.5"],
  inject: [join(here, "jsx.mjs")],
  tsconfigRaw: { compilerOptions: { jsx: "react", jsxFactory: "jsx", jsxFragmentFactory: "Fragment" } },
  charset: "utf8",
  legalComments: "none",
  supported: { "color-functions": true, nesting: true },
  define: { "process.env.NODE_ENV": '"production"', __FILE__: "false" },
  metafile: true,
  write: false,
  outdir: "out",
  loader: { ".woff2": "dataurl" },
};

/** What a module of the page exports. */
async function imported(path) {
  const result = await build({ entryPoints: [join(here, path)], bundle: true, format: "esm", write: false, charset: "utf8" });
  return import("data:text/javascript;base64," + Buffer.from(result.outputFiles[0].contents).toString("base64"));
}

/** The book of Learn: the chapters in their order, with the sentences they show. */
export async function book() {
  const folder = join(here, "src/learn/chapters");
  const { ORDER, TEXTS } = await imported("src/learn/chapters/index.ts");
  const written = readdirSync(folder)
    .filter((name) => name.endsWith(".json"))
    .map((name) => name.slice(0, -".json".length));
  const stray = written.filter((id) => !ORDER.includes(id));
  if (stray.length > 0) throw new Error(`chapters without a place in src/learn/chapters/index.ts: ${stray.join(", ")}`);
  const chapters = ORDER.filter((id) => written.includes(id)).map((id) => ({
    id,
    ...JSON.parse(readFileSync(join(folder, `${id}.json`), "utf8")),
  }));
  return { texts: TEXTS, chapters };
}

/** The message files as data, `{en: {file: {key: text}}, ko: …}`: words travel beside the script, one file per language. */
export async function words() {
  const files = await imported("src/messages/index.ts");
  const inLanguage = (n) => (table) => Object.fromEntries(Object.entries(table).map(([key, pair]) => [key, pair[n]]));
  const all = (language) => Object.fromEntries(Object.entries(files).map(([name, table]) => [name, language(table)]));
  return { en: all(inLanguage(0)), ko: all(inLanguage(1)) };
}

/** Short names for messages, as a minifier gives to variables: `attention.title` becomes `attention.7` in the script and in the word files.
 *  A key that the code puts together from parts keeps its own name. Returns the new tables and what to write for each key. */
export function shorten(tables) {
  const code = sources(join(here, "src"))
    .map((path) => readFileSync(path, "utf8"))
    .join("\n");
  const parts = [...code.matchAll(/`([a-z]+\.[A-Za-z0-9_.]*)\$\{/g)].map((match) => match[1]);
  const short = new Map();
  for (const [file, table] of Object.entries(tables.en)) Object.keys(table).forEach((key, n) => short.set(`${file}.${key}`, String(n)));
  const renamed = (file, table) =>
    Object.fromEntries(
      Object.entries(table).flatMap(([key, text]) => {
        const full = `${file}.${key}`;
        const names = [code.includes(`"${full}"`) && short.get(full), parts.some((part) => full.startsWith(part)) && key];
        return names.filter((name) => name !== false).map((name) => [name, text]);
      }),
    );
  const shortened = {};
  for (const [locale, files] of Object.entries(tables))
    shortened[locale] = Object.fromEntries(Object.entries(files).map(([file, table]) => [file, renamed(file, table)]));
  return { tables: shortened, short };
}

/** Paths of the page's own code, without the messages. */
const sources = (folder) =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? (entry.name === "messages" ? [] : sources(path)) : /\.tsx?$/.test(path) ? [path] : [];
  });

/** Scripts that come later. Each is told to import all of the first look, and those of the book all that its figures share: so these stay one
 *  script each, instead of one for every set of modules that some of the later scripts have in common. */
const LATER = {
  "screens/more.ts": [],
  "screens/documents.tsx": [],
  "screens/map.tsx": [],
  "teach/teach.tsx": [],
  "local/drop.ts": [],
  "local/transport.ts": [],
  "learn/learn.tsx": ["learn/parts"],
  "learn/figures/": ["learn/learn.tsx"],
};
function together(path) {
  const found = Object.entries(LATER).find(([start]) => path.startsWith(join(here, "src", start)) && !path.endsWith("figures/index.ts"));
  const shared = found ? ["components/Shell", ...found[1]] : [];
  return shared.map((name) => `\nimport ${JSON.stringify(join(here, "src", name))};`).join("");
}

/** Leaves the message files out of the script; `names` are the paths under which the page finds them, `short` the short names of messages, if any; `file`: for exported files. */
export const wordsApart = (names, short = new Map(), file = false) => ({
  plugins: [
    {
      name: "words-apart",
      setup(build) {
        build.onResolve({ filter: /^\.\/messages$/ }, () => ({ path: "words", namespace: "apart" }));
        build.onLoad({ filter: /.*/, namespace: "apart" }, () => ({ contents: "export {};", loader: "js" }));
        if (short.size === 0) return;
        build.onLoad({ filter: /src\/.*\.tsx?$/ }, ({ path }) => ({
          contents:
            readFileSync(path, "utf8").replace(/"([a-z]+)\.\w+"/g, (text, file) =>
              short.has(text.slice(1, -1)) ? `"${file}.${short.get(text.slice(1, -1))}"` : text,
            ) + (file ? "" : together(path)),
          loader: path.endsWith("x") ? "tsx" : "ts",
        }));
      },
    },
  ],
  define: { ...options.define, __WORDS__: JSON.stringify(names), __FILE__: String(file) },
});
