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
};

/** The message files as data, `{en: {file: {key: text}}, ko: …}`: words travel beside the script, one file per language. */
export async function words() {
  const result = await build({
    entryPoints: [join(here, "src/messages/index.ts")],
    bundle: true,
    format: "esm",
    write: false,
    charset: "utf8",
  });
  const files = await import("data:text/javascript;base64," + Buffer.from(result.outputFiles[0].contents).toString("base64"));
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
          contents: readFileSync(path, "utf8").replace(/"([a-z]+)\.\w+"/g, (text, file) =>
            short.has(text.slice(1, -1)) ? `"${file}.${short.get(text.slice(1, -1))}"` : text,
          ),
          loader: path.endsWith("x") ? "tsx" : "ts",
        }));
      },
    },
  ],
  define: { ...options.define, __WORDS__: JSON.stringify(names), __FILE__: String(file) },
});
