/** Why √d: entropy and slope of the softmax over random scores, against a few lines of their own. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { atWidth, KEYS, scoreRows, slope, WIDTHS } from "../src/lib/scores";

/** Mean entropy in bits over rows, by the definition. */
function bits(rows: readonly ArrayLike<number>[], divisor: number): number {
  let total = 0;
  for (const row of rows) {
    const e = Array.from(row, (x) => Math.exp((x - Math.max(...Array.from(row))) / divisor));
    const sum = e.reduce((a, b) => a + b, 0);
    total -= e.map((x) => x / sum).reduce((a, p) => a + (p > 0 ? p * (Math.log(p) / Math.LN2) : 0), 0);
  }
  return total / rows.length;
}

test("entropies are those of the definition, over other random numbers", () => {
  for (const d of [4, 64, 1024]) {
    const found = atWidth(d, 3);
    const others = scoreRows(d, d > 64 ? 60 : 400, 99);
    assert.ok(Math.abs(found.raw - bits(others, 1)) < 0.2, `${d}: ${found.raw}`);
    assert.ok(Math.abs(found.scaled - bits(others, Math.sqrt(d))) < 0.2);
  }
});

test("without the division the softmax closes up, with it nothing changes", () => {
  const all = WIDTHS.map((d) => atWidth(d, 1));
  const [four, wide, widest] = [4, 64, 1024].map((d) => all.find((one) => one.d === d)!);
  assert.ok(four.raw > 2.3 && four.raw < 2.9);
  assert.ok(wide.raw > 0.3 && wide.raw < 0.9);
  assert.ok(widest.raw < 0.3);
  for (const one of all.slice(1)) assert.ok(Math.abs(one.scaled - four.scaled) < 0.25, `${one.d}: ${one.scaled}`);
  for (const { d, spread } of all.slice(1)) assert.ok(Math.abs(spread / Math.sqrt(d) - 1) < 0.15, `${d}: ${spread}`);
  assert.ok(widest.rawSlope < 0.15 && widest.scaledSlope > 0.8);
});

test("the slope is the trace of the softmax's Jacobian, by finite differences", () => {
  const scores = [0.3, -1, 2, 0.1];
  const soft = (z: number[]) => z.map((x) => Math.exp(x) / z.reduce((a, b) => a + Math.exp(b), 0));
  const step = 1e-5;
  const trace = scores.map((_, i) => (soft(scores.map((x, j) => x + (i === j ? step : 0)))[i] - soft(scores)[i]) / step);
  assert.ok(Math.abs(slope(soft(scores)) - trace.reduce((a, b) => a + b, 0)) < 1e-4);
  assert.equal(scoreRows(4, 2, 1)[0].length, KEYS);
});
