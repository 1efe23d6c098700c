/** The tour: every step leads somewhere, leaves nothing behind, and can be linked to. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeOps } from "../src/lib/link";
import { breaking, stepOf, STEPS, stopOf } from "../src/lib/tour";

const size = { layers: 2, heads: 4, d_head: 16 };
const card = { kinds: { cross: size } };

test("steps are read from the address, and nothing else is one", () => {
  assert.deepEqual(
    STEPS.map((_, n) => stepOf(String(n + 1))),
    STEPS.map((_, n) => n),
  );
  for (const text of [undefined, "", "0", "7", "1.5", "x"]) assert.equal(stepOf(text), null);
});

test("only the step that breaks the model carries an intervention, and the next one takes it back", () => {
  STEPS.forEach((step, n) => {
    const { patch } = stopOf(n, card);
    assert.equal(patch.tour, n + 1);
    assert.equal(patch.w !== null, step === "break");
    assert.equal(patch.pin !== null, step === "break");
  });
  assert.deepEqual(decodeOps(String(stopOf(STEPS.indexOf("break"), card).patch.w)), [breaking(card)]);
});

test("what breaks a model is something it has", () => {
  assert.deepEqual(breaking(card), { op: "mask_head", kind: "cross", layer: 1, head: "*" });
  assert.deepEqual(breaking({ kinds: {} }), { op: "bridge", mode: "zero" });
});
