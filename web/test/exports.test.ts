/** Exports: alignments in the forms of Pharaoh and Nematus, tensors in the safetensors layout. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { startingAt } from "../src/lib/link";
import type { TraceSide } from "../src/api-types";
import { nematus, pharaoh, wordWeights } from "../src/lib/align";
import { fromRows } from "../src/lib/matrix";
import { readSafetensors, writeSafetensors } from "../src/lib/safetensors";

const side = (...words: string[][]): TraceSide => {
  const pieces = [...words.flatMap((word, w) => word.map((text) => ({ text, word: w }))), { text: "</s>", word: words.length }];
  return {
    text: words.map((word) => word.join("")).join(" "),
    lang: "en",
    dir: "ltr",
    tokens: pieces.map(({ text, word }, i) => ({
      i,
      id: i,
      text,
      piece: text,
      type: word === words.length ? "special" : "normal",
      span: null,
      word,
    })),
    words: [...words, ["</s>"]].map((word, i) => ({
      i,
      text: word.join(""),
      tokens: pieces.flatMap((piece, at) => (piece.word === i ? [at] : [])),
    })),
  };
};
const source = side(["a", "b"], ["c|"]);
const target = side(["x"], ["y", "z"], ["w"]);
const weights = fromRows([
  [0.5, 0.2, 0.2, 0.1],
  [0, 0.1, 0.9, 0],
  [0.2, 0.1, 0.5, 0.2],
  [0.02, 0.02, 0.06, 0.9],
  [0, 0, 0, 1],
]);

test("words sum over keys and average over queries; each links to its strongest word, never to an end", () => {
  const words = wordWeights(weights, source, target);
  assert.deepEqual([words.rows, words.cols], [4, 3]);
  assert.deepEqual(
    Array.from(words.data.subarray(0, 6), (w) => Number(w.toFixed(6))),
    [0.7, 0.2, 0.1, 0.2, 0.7, 0.1],
  );
  assert.equal(pharaoh(words), "0-0 1-1");
});

test("the soft form has a row and a column for the ends, and escapes its own bar", () => {
  const lines = nematus(wordWeights(weights, source, target), source, target, -1.5).split("\n");
  assert.equal(lines[0], "0 ||| x yz w ||| -1.5 ||| ab c&#124; ||| 3 4");
  assert.deepEqual(
    lines.slice(1, 5).map((line) => line.split(" ").length),
    [3, 3, 3, 3],
  );
  assert.deepEqual(lines.slice(5), ["", ""]);
});

test("tensors are read back as they were written", () => {
  const tensors = new Map([
    ["cross.weights:1.2", { shape: [2, 3], data: Float32Array.of(1, 2, 3, 4, 5, 0.5), dtype: "F32" }],
    ["cross.mask:1.2", { shape: [3], data: Uint8Array.of(1, 0, 1), dtype: "U8" }],
    ["사", { shape: [1], data: Float32Array.of(1, 7).subarray(1), dtype: "F32" }],
  ]);
  assert.deepEqual(readSafetensors(writeSafetensors(tensors)), tensors);
});

test("an exported page opens on the view it was exported from, whatever its text holds", () => {
  const hostile = String.raw`{"s":"\"start\":\"x\"","start":"/translate?s=a%20\u0026b","end":1}`;
  const moved = startingAt(hostile, "/attention?m=$1&s=</script>");
  assert.deepEqual(JSON.parse(moved), { s: '"start":"x"', start: "/attention?m=$1&s=</script>", end: 1 });
  assert.ok(!moved.includes("</script") && !moved.includes("&"));
});
