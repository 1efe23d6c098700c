/** The three masks: who sees whom, counted. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FAMILY, maskOf, sees, underMask } from "../src/lib/masks";
import { fromRows } from "../src/lib/matrix";

const sum = (mask: Uint8Array) => mask.reduce((a, b) => a + b, 0);

test("encoder only: all pairs; decoder only: half and the diagonal; both: source × source, target × source, half of target", () => {
  for (const [S, T] of [
    [3, 2],
    [1, 1],
    [13, 11],
  ]) {
    const n = S + T;
    assert.equal(sum(maskOf("encoder", S, T)), n * n);
    assert.equal(sum(maskOf("decoder", S, T)), (n * (n + 1)) / 2);
    assert.equal(sum(maskOf("both", S, T)), S * S + T * S + (T * (T + 1)) / 2);
  }
});

test("no source token sees the target, no token sees what is written after it", () => {
  assert.ok(!sees("both", 1, 3, 3));
  assert.ok(sees("both", 3, 0, 3) && sees("both", 3, 3, 3) && !sees("both", 3, 4, 3));
  assert.ok(!sees("decoder", 0, 1, 3) && sees("encoder", 0, 4, 3));
});

test("weights lie where their tokens stand, and nowhere outside the mask", () => {
  const weights = {
    encoder: fromRows([
      [1, 2],
      [3, 4],
    ]),
    decoder: fromRows([
      [5, 0],
      [6, 7],
    ]),
    cross: fromRows([
      [8, 9],
      [10, 11],
    ]),
  };
  assert.deepEqual([...underMask("both", weights).data], [1, 2, 0, 0, 3, 4, 0, 0, 8, 9, 5, 0, 10, 11, 6, 7]);
  assert.deepEqual([...underMask("encoder", weights).data.filter(Boolean)], [1, 2, 3, 4]);
  assert.deepEqual([...underMask("decoder", weights).data.filter(Boolean)], [5, 6, 7]);
  for (const member of FAMILY) underMask(member, weights).data.forEach((value, i) => assert.ok(!value || maskOf(member, 2, 2)[i], member));
});
