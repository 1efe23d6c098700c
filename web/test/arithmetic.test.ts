import assert from "node:assert/strict";
import { test } from "node:test";
import {
  addsUp,
  decimalsFor,
  meanEntropy,
  norm,
  operandDecimals,
  printed,
  products,
  ranked,
  rowUnder,
  shown,
  softmax,
  softmaxSteps,
  sumOf,
  withSign,
  type Sum,
} from "../src/lib/arithmetic";

/** Exact value of a printed decimal in units of 10⁻¹², with no floating point on the way. */
function decimal(text: string): bigint {
  const plain = text.replace("\u2212", "-").replace("+", "");
  assert.match(plain, /^-?\d+(\.\d+)?$/, text);
  const [whole, fraction = ""] = plain.replace("-", "").split(".");
  const units = BigInt(whole + fraction.padEnd(12, "0"));
  return plain.startsWith("-") ? -units : units;
}
const lawful = (sum: Sum) =>
  assert.equal(
    sum.parts.reduce((all, part) => all + decimal(part.shown.text), 0n) + (sum.rest ? decimal(sum.rest.shown.text) : 0n),
    decimal(sum.total.text),
  );

function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

test("printed parts and rest are exactly the printed total, whatever the numbers", () => {
  const next = random(7);
  for (let turn = 0; turn < 3000; turn++) {
    const n = 1 + Math.floor(next() * 80);
    const size = 10 ** (next() * 8 - 4);
    const values = Float32Array.from({ length: n }, () => (next() - 0.5) * size);
    const total = Math.fround(values.reduce((a, b) => a + b, 0));
    const most = 1 + Math.floor(next() * 12);
    const sum = sumOf(values, total, { most, first: turn % 3 ? Math.floor(next() * n) : -1 });
    lawful(sum);
    assert.equal(sum.parts.length, Math.min(most, n));
    for (const part of sum.parts) assert.ok(Math.abs(printed(part.shown) - values[part.index]) <= 0.5000001 * 10 ** -part.shown.decimals);
    if (sum.rest?.count === 0) assert.ok(Math.abs(sum.rest.shown.units) <= n);
  }
});

test("a sum names its largest parts first, keeps the one asked for, and has no rest when nothing is left", () => {
  const sum = sumOf([1, -5, 3, 0.25], -0.75, { most: 2 });
  assert.deepEqual(
    sum.parts.map((part) => [part.index, withSign(part.shown)]),
    [
      [1, "\u22125.0000"],
      [2, "+3.0000"],
    ],
  );
  assert.deepEqual([sum.rest?.count, sum.rest?.shown.text, sum.total.text], [2, "1.2500", "\u22120.7500"]);
  assert.equal(sumOf([1, 2], 3).rest, null);
  assert.equal(sumOf([1, 1, 1], 3.001, { decimals: 3 }).rest?.shown.text, "0.001");
  assert.deepEqual(
    sumOf([9, 8, 1], 18, { most: 2, first: 2 }).parts.map((part) => part.index),
    [0, 2],
  );
});

test("numbers are printed in full, with a real minus and without negative zero", () => {
  assert.equal(shown(-0.0004, 3).text, "0.000");
  assert.equal(shown(-12.3456, 3).text, "\u221212.346");
  assert.equal(shown(2.5, 0).text, "3");
  assert.equal(shown(-Infinity, 3).text, "\u2212∞");
  assert.deepEqual([23.4, 2.9, 0.71, 0.012, 0, NaN].map(decimalsFor), [3, 3, 4, 5, 3, 3]);
});

test("operands get the digits with which a reader finds the printed result", () => {
  const next = random(11);
  for (let turn = 0; turn < 2000; turn++) {
    const [a, b] = [(next() - 0.5) * 20, (next() - 0.5) * 20];
    const result = shown(a * b, 3);
    const decimals = operandDecimals([a, b], (x, y) => x * y, result)!;
    assert.notEqual(decimals, null);
    assert.equal(shown(printed(shown(a, decimals)) * printed(shown(b, decimals)), 3).text, result.text);
  }
  assert.equal(
    operandDecimals([1, 2], (x, y) => x + y, shown(5, 3)),
    null,
  );
});

test("the steps of a softmax follow from each other as printed, and its sum adds up", () => {
  const next = random(3);
  let exact = 0;
  for (let turn = 0; turn < 500; turn++) {
    const n = 2 + Math.floor(next() * 30);
    const scores = Float32Array.from({ length: n }, () => (next() - 0.5) * 12);
    const at = Math.floor(next() * n);
    const mask = Uint8Array.from({ length: n }, (_, i) => (i === at || next() > 0.3 ? 1 : 0));
    const weights = Float32Array.from(softmax(scores, mask));
    const steps = softmaxSteps(scores, mask, at, weights[at]);
    lawful(steps.sum);
    assert.ok(steps.sum.parts.some((part) => part.index === at && part.shown.text === steps.exp.text));
    if (!steps.exact) continue;
    exact++;
    assert.equal(shown(printed(steps.exp) / printed(steps.sum.total), steps.weight.decimals).text, steps.weight.text);
    assert.equal(shown(Math.exp(printed(steps.score) - printed(steps.top)), steps.exp.decimals).text, steps.exp.text);
  }
  assert.ok(exact > 480, `${exact}`);
});

test("weights sum to one, forbidden entries get none, and heat spreads them", () => {
  const weights = softmax([1, 2, 3, 99], [1, 1, 1, 0]);
  assert.ok(Math.abs(weights.reduce((a, b) => a + b) - 1) < 1e-12);
  assert.equal(weights[3], 0);
  assert.ok(meanEntropy([softmax([1, 5], null, 4)]) > meanEntropy([softmax([1, 5])]));
});

test("what a row would be with one thing done otherwise", () => {
  const row = { scores: [8, 4, 0, 4], scaled: [2, 1, 0, 1], mask: [1, 1, 1, 0] };
  assert.deepEqual(Array.from(rowUnder("uniform", row, 1)), [1 / 3, 1 / 3, 1 / 3, 0]);
  assert.deepEqual(rowUnder("unscaled", row, 1), softmax(row.scores, row.mask));
  assert.deepEqual(rowUnder("temperature", row, 2), softmax([1, 0.5, 0, 0.5], row.mask));
  assert.ok(rowUnder("unmasked", row, 1)[3] > 0);
});

test("parts that are not parts of a total are told apart", () => {
  assert.ok(addsUp(products([1, 2], [3, 4]), 11.00001));
  assert.ok(!addsUp([1, 2], 9));
  assert.deepEqual(ranked([1, -3, 2], 2), [1, 2]);
  assert.equal(norm([3, 4]), 5);
});
