import assert from "node:assert/strict";
import { test } from "node:test";
import { doubtful, markedPieces } from "../src/lib/doubts";

const word = (begin: number, end: number, change: number) => ({ text: [begin, end] as [number, number], change });

test("doubtful words are those that would rather be changed", () => {
  const words = [word(0, 1, 0.49), word(2, 3, 0.5), word(4, 5, 0.9)];
  assert.deepEqual(doubtful({ change: 0.9, sentences: [0.9], words }), words.slice(1));
  assert.deepEqual(doubtful(null), []);
});

test("a text without marks is one piece", () => {
  assert.deepEqual(markedPieces("a b", null, []), [{ text: "a b", marked: false, change: null }]);
  assert.deepEqual(markedPieces("", null, []), []);
});

test("doubts and the range under the pointer may cross", () => {
  const pieces = markedPieces("abcdef", [1, 4], [word(2, 6, 0.7)]);
  assert.deepEqual(
    pieces.map(({ text, marked, change }) => [text, marked, change]),
    [
      ["a", false, null],
      ["b", true, null],
      ["cd", true, 0.7],
      ["ef", false, 0.7],
    ],
  );
});

test("doubts count characters, not units of UTF-16", () => {
  const pieces = markedPieces("😀 wrong", null, [word(2, 7, 0.6)]);
  assert.deepEqual(
    pieces.map((piece) => piece.text),
    ["😀 ", "wrong"],
  );
  assert.equal(pieces[1].change, 0.6);
});
