/** Cost: formulas against multiplications that are counted one by one; the work itself against plain sums. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { crossing, job, measure, multiplications, PARTS, power } from "../src/lib/cost";

for (const part of PARTS)
  test(`${part}: the formula is what is counted`, () => {
    for (const [n, d] of [
      [1, 1],
      [3, 4],
      [7, 5],
      [12, 8],
    ]) {
      let counted = 0;
      job(part, n, d, (x, y) => {
        counted++;
        return x * y;
      }).run();
      assert.equal(counted, multiplications(part, n, d), `${n} ${d}`);
    }
  });

test("attention grows with the square of n, the others in a line; d the other way round", () => {
  for (const part of PARTS) {
    const byLength = power([16, 512], [multiplications(part, 16, 64), multiplications(part, 512, 64)]);
    const byWidth = power([16, 512], [multiplications(part, 64, 16), multiplications(part, 64, 512)]);
    assert.ok(Math.abs(byLength - (part === "attention" ? 2 : 1)) < 1e-12);
    assert.ok(Math.abs(byWidth - (part === "attention" ? 1 : 2)) < 1e-12);
  }
});

test("attention overtakes recurrence just past n = d, and the feed-forward network past four times that", () => {
  for (const d of [1, 8, 64]) {
    assert.equal(crossing(d, "recurrence"), d + 1);
    assert.equal(crossing(d, "feedforward"), 4 * d + 1);
  }
});

test("the work is done: the same numbers again, finite, and other ones for another size", () => {
  for (const part of PARTS) {
    const { run } = job(part, 6, 4);
    const first = run();
    assert.ok(Number.isFinite(first) && first !== 0);
    assert.equal(run(), first);
    assert.notEqual(job(part, 7, 4).run(), first);
  }
});

test("a measurement is the best of three, by the clock that it is given", () => {
  let now = 0;
  const clock = () => (now += 2); // each look takes two
  assert.equal(measure("recurrence", 2, 2, clock), 8 / 3); // 2, 4, 6 in the loop and one look more
});
