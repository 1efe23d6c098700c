/** What survives of a gradient with each token more. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { power } from "../src/lib/gradients";

const at = (length: number, first: number) => ({ length, first, loss: 1, smallest: first, largest: 1 });

test("the share of one token, multiplied as often as there are tokens more, leads from one length to the other", () => {
  const found = power([at(5, 1), at(40, 2e-9), at(80, 7e-19)])!;
  assert.deepEqual([found.short, found.long, found.near, found.far], [40, 80, 2e-9, 7e-19]);
  let value = found.near;
  for (let token = 0; token < 40; token++) value *= found.share;
  assert.ok(Math.abs(value / found.far - 1) < 1e-9);
});

test("one length, or a gradient that is 0, has no share", () => {
  assert.equal(power([at(5, 1)]), null);
  assert.equal(power([at(5, 1), at(9, 0)]), null);
  assert.equal(power([]), null);
});
