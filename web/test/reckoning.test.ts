/** The arithmetic of the book's figures, against numbers worked out by hand. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Manifest, TraceToken } from "../src/api-types";
import {
  candidates,
  countsToOffer,
  fateOf,
  firstWrong,
  headsToAsk,
  lengthPenalty,
  lettersOf,
  pairNearOne,
  sinusoids,
  softestRow,
  stepToAsk,
} from "../src/learn/reckoning";
import { matrix } from "../src/lib/matrix";

const labels = (text: string) => text.split(" ").map((one) => ({ text: one }));
/** Weights with 1 at one key of each query. */
const looking = (at: readonly number[], keys: number) => {
  const found = matrix(at.length, keys);
  at.forEach((k, q) => (found.data[q * keys + k] = 1));
  return found;
};

test("the step to predict looks at a token of another kind, far from its own place", () => {
  const [rows, cols] = [labels("2 0 - 3 5"), labels("5 mar 2 0")];
  assert.equal(stepToAsk({ weights: looking([2, 3, 3, 1, 0], 4), rows, cols }), 3); // the number 3 from the word mar
  assert.equal(stepToAsk({ weights: looking([2, 3, 3, 0, 0], 4), rows, cols }), 4); // no such step: the farthest, 5 from 5
  assert.equal(stepToAsk({ weights: looking([0], 1), rows: labels("-"), cols: labels("-") }), 0);
});

test("options hold the strongest token once, in the order of the sentence, and no text twice", () => {
  const cols = labels("a b c d e f g h i j k l m n");
  assert.deepEqual(candidates({ weights: looking([13], 14), cols }, 0), [0, 1, 2, 3, 4, 13]);
  assert.deepEqual(candidates({ weights: looking([2], 4), cols: labels("a a b b") }, 0), [0, 2]);
  const many = candidates({ weights: looking([5], 128), cols: Array.from({ length: 128 }, (_, n) => ({ text: `w${n}` })) }, 0);
  assert.equal(many.length, 6);
  assert.ok(many.includes(5));
});

test("the softest row is the one of most entropy", () => {
  assert.equal(softestRow(matrix(3, 2, Float32Array.of(1, 0, 0.5, 0.5, 0.9, 0.1))), 1);
});

test("the pair to ask about differs by as near to 1 as can be, the larger first", () => {
  assert.deepEqual(pairNearOne([0, 3.2, 2.1, -4]), [1, 2]);
  assert.deepEqual(
    pairNearOne([0, 3.2, 2.1, -4], (i) => i !== 2),
    [1, 0],
  );
});

test("the first wrong answer, against the truth or else against the other model", () => {
  const case_ = (mine: string, right?: string, theirs: string | null = null) => ({ mine, theirs, ...(right ? { right } : {}) });
  assert.equal(firstWrong([case_("a", "a"), case_("b", "x")]), 1);
  assert.equal(firstWrong([case_("a", undefined, "a"), case_("b", undefined, "c")]), 1);
  assert.equal(firstWrong([case_("a", "a", "wrong"), case_("b")]), -1);
});

test("positions by the formula", () => {
  const rows = sinusoids(4, 4);
  assert.deepEqual(rows[0], [0, 1, 0, 1]);
  assert.ok(Math.abs(rows[3][0] - Math.sin(3)) < 1e-12);
  assert.ok(Math.abs(rows[3][1] - Math.cos(3)) < 1e-12);
  assert.ok(Math.abs(rows[3][2] - Math.sin(3 / 100)) < 1e-12); // 10000^(2/4) = 100
});

test("what became of an answer", () => {
  assert.equal(fateOf("2024", "2024"), 0);
  assert.equal(fateOf("2024", "4202"), 1);
  assert.equal(fateOf("2024", "2025"), 2);
});

test("the length penalty of 7 tokens is 2, its square 4, and 1 without α", () => {
  assert.equal(lengthPenalty(7), 2);
  assert.equal(lengthPenalty(7, 2), 4);
  assert.equal(lengthPenalty(7, 0), 1);
});

test("of few heads all are silenced, of many some", () => {
  assert.deepEqual(headsToAsk(4), [0, 1, 2, 3]);
  assert.deepEqual(headsToAsk(16), [0, 4, 8, 12]);
});

test("tokens of an unknown character are its bytes, without a space or an end", () => {
  const token = (piece: string, type: TraceToken["type"], byte?: number) => ({ piece, type, ...(byte === undefined ? {} : { byte }) });
  const tokens = [token(" ", "normal"), token("<0xF0>", "byte", 240), token("<0x9F>", "byte", 159), token("</s>", "special")];
  assert.equal(lettersOf({ source: { tokens } } as unknown as Manifest), 2);
});

test("counts to choose from hold the right one", () => {
  assert.deepEqual(countsToOffer(14, "1998년 3월 24일 화요일"), [4, 5, 14, 20]);
  assert.deepEqual(countsToOffer(2, "one"), [1, 2, 7]);
});
