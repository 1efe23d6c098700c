// One place that says how the page is bundled, for the build, the development server and the tests.
import { dirname, resolve } from "node:path";
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
  jsx: "automatic",
  jsxImportSource: "preact",
  charset: "utf8",
  legalComments: "none",
  supported: { "color-functions": true, nesting: true },
  define: { "process.env.NODE_ENV": '"production"' },
  metafile: true,
  write: false,
  outdir: "out",
};
