import assert from "node:assert/strict";
import { test } from "node:test";
import { falls, named, outOf100, SCORES } from "../src/lib/metrics";

test("metrics have the names people know, and words of a language come first", () => {
  assert.deepEqual(
    ["rougeL", "rouge1", "per", "bleu", "chrf"].map((name) => named(name, {})),
    ["ROUGE-L", "ROUGE-1", "PER", "BLEU", "chrF++"],
  );
  assert.equal(named("exact", { exact: "완전 일치" }), "완전 일치");
  assert.equal(named("own", {}), "own");
});

test("a metric is a rate of errors or a share of 100, never both", () => {
  assert.deepEqual(SCORES.filter(falls), ["per"]);
  for (const name of [...SCORES, "ter", "wer", "cer", "ppl", "loss"]) assert.notEqual(falls(name), outOf100(name), name);
});
