import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { lowestScore, Novelty } from "../src/local/usual";

const beside = (name: string) => readFileSync(join("../src/jumok/trained/transformer", name), "utf8");
const weights = (text: string) => JSON.parse(text).weights as string;

test("a filter is that of these weights, whole, or none", () => {
  const text = beside("novelty.json");
  assert.notEqual(Novelty.parse(text, weights(text)), null);
  assert.equal(Novelty.parse(text, "other"), null);
  assert.equal(Novelty.parse(text.slice(0, -20), weights(text)), null);
  assert.equal(Novelty.parse("", weights(text)), null);
  assert.equal(Novelty.parse(text.replace("jumok-novelty/1", "jumok-novelty/2"), weights(text)), null);
});

test("pairs that nothing was trained on are strange, and texts without pairs are not", () => {
  const text = beside("novelty.json");
  const novelty = Novelty.parse(text, weights(text))!;
  const far = [800, 90, 700, 91, 600, 92].map((id) => id + 10_000);
  assert.deepEqual(novelty.count(far), { pairs: 5, unseen: 5, strange: true });
  assert.deepEqual(novelty.count([7]), { pairs: 0, unseen: 0, strange: false });
  assert.deepEqual(novelty.count([]), { pairs: 0, unseen: 0, strange: false });
});

test("the lowest score is that of the calibration of these weights", () => {
  const text = beside("confidence.json");
  assert.equal(lowestScore(text, weights(text)), JSON.parse(text).fitted.lowest_score);
  assert.equal(lowestScore(text, "other"), null);
  assert.equal(lowestScore("", weights(text)), null);
});
