// Bundles web/test/*.test.ts into a temporary folder and runs them with node's own test runner.
import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { here } from "./bundle.mjs";

const wanted = process.argv.slice(2);
const tests = readdirSync(join(here, "test"))
  .filter((name) => name.endsWith(".test.ts") && (wanted.length === 0 || wanted.some((part) => name.includes(part))))
  .map((name) => join(here, "test", name));
const folder = mkdtempSync(join(tmpdir(), "jumok-web-"));
try {
  await build({
    entryPoints: tests,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    jsx: "automatic",
    jsxImportSource: "preact",
    loader: { ".css": "empty" },
    define: { __WEB__: JSON.stringify(here), __FILE__: "false" },
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    logLevel: "warning",
  });
  const files = readdirSync(folder)
    .filter((name) => name.endsWith(".mjs"))
    .map((name) => join(folder, name));
  process.exitCode = spawnSync(process.execPath, ["--test", ...files], { stdio: "inherit" }).status ?? 1;
} finally {
  rmSync(folder, { recursive: true });
}
