/** Colours of architectures: the same in every chart. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { archOf, coloursOf, ownColour } from "../src/lib/series";

test("an architecture has its colour whatever stands beside it, and in whatever order", () => {
  assert.deepEqual(coloursOf(["rnn", "luong", "transformer"]), [2, 3, 1]);
  assert.deepEqual(coloursOf(["transformer"]), [1]);
  assert.deepEqual(coloursOf(["luong", "rnn"]), [3, 2]);
});

test("a second one of an architecture, and one of none, take colours that no architecture has", () => {
  assert.deepEqual(coloursOf(["rnn", "rnn", null, "rnn", undefined]), [2, 4, 5, 6, 4]);
  const own = ["transformer", "rnn", "luong"].map(ownColour);
  assert.ok(coloursOf([null, null, null]).every((colour) => !own.includes(colour)));
});

test("the architecture of a system is that of the model of its name, else what the name says", () => {
  assert.equal(archOf("mine", [{ name: "mine", arch: "luong" }]), "luong");
  assert.equal(archOf("demo/rnn", []), "rnn");
  assert.equal(archOf("Transformer-big", []), "transformer");
  assert.equal(archOf("burnning", []), null);
});
