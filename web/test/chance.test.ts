/** Random numbers: the same again, and of the distribution they claim. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { normal, uniform } from "../src/lib/chance";

const many = (draw: () => number, n = 20_000) => Array.from({ length: n }, draw);
const mean = (values: number[]) => values.reduce((a, b) => a + b, 0) / values.length;

test("a seed gives the same numbers, another seed others", () => {
  assert.deepEqual(many(uniform(7), 5), many(uniform(7), 5));
  assert.notDeepEqual(many(normal(7), 5), many(normal(8), 5));
});

test("uniform numbers fill 0 to 1, normal ones have mean 0 and variance 1", () => {
  const flat = many(uniform(1));
  assert.ok(flat.every((x) => x >= 0 && x < 1));
  assert.ok(Math.abs(mean(flat) - 0.5) < 0.01);
  const bell = many(normal(1));
  assert.ok(Math.abs(mean(bell)) < 0.03);
  assert.ok(Math.abs(mean(bell.map((x) => x * x)) - 1) < 0.05);
  assert.ok(Math.abs(bell.filter((x) => Math.abs(x) < 1).length / bell.length - 0.683) < 0.02);
});
