/** What the chapter on positions says of the stored curve is what the readings say. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

declare const __WEB__: string;
const read = (path: string) => JSON.parse(readFileSync(join(__WEB__, path), "utf8"));
const { shifts, trained_tokens } = read("../benchmarks/readings/shifted_positions.json");
const exact = (by: number): number => shifts.find((one: { by: number }) => one.by === by).exact;

test("a shift of 2 costs every eighth sentence, one of 20 nearly all; training had sentences of up to 72 tokens", () => {
  const told = JSON.stringify(read("src/learn/chapters/positions-past-training.json"));
  assert.ok(told.includes("every eighth sentence") && told.includes("여덟 문장 중 하나"));
  assert.equal(Math.round(100 / (exact(0) - exact(2))), 8);
  assert.ok(exact(20) < 5);
  assert.ok(told.includes(`up to ${trained_tokens} tokens`) && told.includes(`토큰 ${trained_tokens}개`));
});
