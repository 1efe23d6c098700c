/** Directions of a model that has several. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { chosenDirection, sourcesOf, targetsOf } from "../src/lib/directions";

const pairs = {
  directions: [
    { source: "en", target: "de" },
    { source: "en", target: "fr" },
    { source: "de", target: "en" },
  ],
};
const all = { languages: ["deu_Latn", "eng_Latn", "fra_Latn"] };

test("languages are those of the true pairs", () => {
  assert.deepEqual(sourcesOf(pairs), ["en", "de"]);
  assert.deepEqual(targetsOf(pairs, "en"), ["de", "fr"]);
  assert.deepEqual(targetsOf(pairs, "de"), ["en"]);
  assert.deepEqual(targetsOf(all, "eng_Latn"), ["deu_Latn", "fra_Latn"]);
});

test("an address says which, and what it leaves out follows", () => {
  assert.deepEqual(chosenDirection(pairs, "en>fr"), { source: "en", target: "fr" });
  assert.deepEqual(chosenDirection(pairs, undefined), { source: "en", target: "de" });
  assert.deepEqual(chosenDirection(pairs, "de>fr"), { source: "de", target: "en" }, "no such pair");
  assert.deepEqual(chosenDirection(pairs, "xx>yy"), { source: "en", target: "de" });
});

test("a model of one direction has nothing to choose", () => {
  assert.equal(chosenDirection({}, "en>de"), null);
  assert.equal(chosenDirection({ directions: [], languages: [] }, undefined), null);
  assert.equal(chosenDirection(null, "en>de"), null);
});
