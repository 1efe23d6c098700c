/** Text that a model cannot know, and pieces that differ in a space alone. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { TraceToken } from "../src/api-types";
import { readsDates } from "../src/lib/dates";
import { answersQuestions } from "../src/lib/languages";
import { beginsWithSpace, unseen, unsure } from "../src/lib/tokens";

const token = (i: number, text: string, more: Partial<TraceToken> = {}): TraceToken => ({
  i,
  id: i,
  text,
  piece: text,
  type: "normal",
  span: [0, 1],
  word: 0,
  ...more,
});
const bytes = (from: number, group: number, char: string): TraceToken[] =>
  [0, 1, 2].map((n) => token(from + n, char, { type: "byte", byte: 200 + n, group }));

test("characters that are read as bytes or as unknown have never been met", () => {
  const tokens = [
    token(0, "␣", { piece: " " }),
    ...bytes(1, 0, "나"),
    ...bytes(4, 1, "는"),
    token(7, "화"),
    token(8, "?", { type: "unk" }),
    token(9, "요일"),
    token(10, "</s>", { type: "special" }),
  ];
  assert.deepEqual(unseen({ tokens }), { unseen: 3, all: 6, examples: ["나", "는", "?"] });
  assert.deepEqual(unseen({ tokens: [token(0, "</s>", { type: "special" })] }), { unseen: 0, all: 0, examples: [] });
});

test("an answer is unsure below the score that nearly all others reach", () => {
  const found = { method: "beam", score_per_token: -0.5 };
  assert.equal(unsure(found, -0.4), -0.4);
  assert.equal(unsure(found, -0.46), null); // not clearly
  assert.equal(unsure(found, -0.5), null);
  assert.equal(unsure(found, null), null);
  assert.equal(unsure({ ...found, method: "given" }, -0.4), null);
});

test("a piece that begins with a space is told from one that does not", () => {
  assert.deepEqual([" 2", "▁2", "Ġ2", "2", "2 ", ""].map(beginsWithSpace), [true, true, true, false, false, false]);
});

test("models of dates say so, and translators are not talked with", () => {
  assert.ok(readsDates({ target_language: "iso8601" }));
  assert.ok(!readsDates({ target_language: "en" }) && !readsDates(null));
  assert.ok(answersQuestions({ source_language: "ko", target_language: "ko" }));
  assert.ok(!answersQuestions({ source_language: "mul", target_language: "iso8601" }));
});
