/** The font of the formulas has every character that they use. */
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const src = join(process.cwd(), "src");
const has = new Set(readFileSync(join(src, "fonts/math.txt"), "utf8"));

const leaves = (formula: unknown): string[] =>
  typeof formula === "string"
    ? [formula]
    : (formula as unknown[]).slice(typeof (formula as unknown[])[0] === "string" ? 1 : 0).flatMap(leaves);

test("every formula can be drawn with the font that is shipped", () => {
  const folder = join(src, "learn/chapters");
  for (const name of readdirSync(folder).filter((one) => one.endsWith(".json"))) {
    const { formulas = [] } = JSON.parse(readFileSync(join(folder, name), "utf8")) as { formulas?: unknown[] };
    for (const text of leaves(formulas)) for (const one of text) assert.ok(has.has(one), `${name}: ${one} is not in src/fonts/math.txt`);
  }
  const code = readFileSync(join(src, "screens/inside/formulas.tsx"), "utf8");
  for (const [, text] of code.matchAll(/"([^"\n]*)"/g)) for (const one of text) assert.ok(has.has(one), `${one} of Inside's formulas`);
});
