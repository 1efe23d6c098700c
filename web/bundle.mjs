// One place that says how the page is bundled, for the build, the development server and the tests.
import { build } from "esbuild";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

export const here = dirname(fileURLToPath(import.meta.url));
export const root = resolve(here, "..");

/** Options shared by every bundle of the page: one script, one style sheet, nothing remote. */
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
  define: { "process.env.NODE_ENV": '"production"' },
  metafile: true,
  write: false,
  outdir: "out",
};

/** The message files as data, `{en: {file: {key: text}}, ko: …}`: words travel beside the script, one file per language. */
export async function words() {
  const result = await build({ entryPoints: [join(here, "src/messages/index.ts")], bundle: true, format: "esm", write: false, charset: "utf8" });
  const files = await import("data:text/javascript;base64," + Buffer.from(result.outputFiles[0].contents).toString("base64"));
  const locales = { en: {}, ko: {} };
  for (const locale of Object.keys(locales)) for (const [name, file] of Object.entries(files)) locales[locale][name] = file[locale];
  return locales;
}

/** Leaves the message files out of the script; `names` are the paths under which the page finds them. */
export const wordsApart = (names) => ({
  plugins: [
    {
      name: "words-apart",
      setup(build) {
        build.onResolve({ filter: /^\.\/messages$/ }, () => ({ path: "words", namespace: "apart" }));
        build.onLoad({ filter: /.*/, namespace: "apart" }, () => ({ contents: "export {};", loader: "js" }));
      },
    },
  ],
  define: { ...options.define, __WORDS__: JSON.stringify(names) },
});
