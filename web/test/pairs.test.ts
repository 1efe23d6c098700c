import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesIn, examplePairs, hasColumns, lineList } from "../src/lib/pairs";

test("an example has as many different pairs as are wanted, always the same, each with one tab", () => {
  for (const language of ["ko", "de"] as const) {
    const lines = examplePairs(language, 200).split("\n");
    assert.equal(new Set(lines).size, 200);
    assert.equal(examplePairs(language, 200), lines.join("\n"));
    for (const line of lines) assert.match(line, /^[^\t]+\tthe [a-z ]+$/);
    assert.ok(lines.every((line) => !line.includes("  ")));
  }
});

test("the German verb comes second and the Korean one last", () => {
  const verbs = new Set(["sieht", "mag", "sucht", "ruft", "fragt"]);
  for (const line of examplePairs("de", 100).split("\n")) {
    const words = line.split("\t")[0].split(" ");
    const at = words.findIndex((word) => verbs.has(word));
    assert.ok(words[0] === "der" ? at === 2 || at === 3 : at === 1, line);
  }
  for (const line of examplePairs("ko", 100).split("\n")) assert.match(line.split("\t")[0], /다$/);
});

test("a table is told from a column, and sizes count bytes", () => {
  assert.equal(hasColumns("a\tb"), true);
  assert.equal(hasColumns("a b"), false);
  assert.equal(bytesIn("가"), 3);
});

test("line numbers that are not all named end with a mark", () => {
  assert.equal(lineList([3, 8], 2), "3, 8");
  assert.equal(lineList([3, 8], 9), "3, 8, …");
});
