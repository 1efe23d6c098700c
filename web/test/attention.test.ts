/** The Attention screen: which kinds are offered, and how much of a row was copied. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Card, Manifest, TraceSide } from "../src/api-types";
import { kindChoices } from "../src/components/controls";
import { fromRows } from "../src/lib/matrix";
import { choiceOf, hasRollout, pictureOf } from "../src/screens/attention_parts/view";

const size = { layers: 2, heads: 2, d_head: 4 };
const three: Card["kinds"] = { enc_self: size, dec_self: size, cross: size };
const copying: Card["kinds"] = { ...three, copy: { layers: 1, heads: 1, d_head: 8 } };

const side = (...words: string[][]): TraceSide => {
  const pieces = [...words, ["</s>"]].flatMap((word, w) => word.map((text) => ({ text, word: w })));
  const type = (text: string) => (text === "</s>" ? "special" : "normal");
  return {
    text: "",
    lang: "en",
    dir: "ltr",
    tokens: pieces.map(({ text, word }, i) => ({ i, id: i, text, piece: text, type: type(text), span: null, word })),
    words: [...words, ["</s>"]].map((word, i) => ({
      i,
      text: word.join(""),
      tokens: pieces.flatMap((piece, at) => (piece.word === i ? [at] : [])),
    })),
  };
};
const info = { q: "target", k: "source", causal: false, shape: [1, 1, 4, 3], stages: [], atlas: { tensor: "copy.atlas" } };
const manifest = {
  model: { kinds: copying },
  source: side(["a", "b"]),
  target: side(["x"], ["y", "z"]),
  attention: { copy: info, cross: info },
  steps: [0.25, 0.5, 1, 0].map((copied) => ({ copied })),
} as unknown as Manifest;
const weights = () =>
  fromRows([
    [0.5, 0.25, 0.25],
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ]);

test("only a model that copies speaks of copying", () => {
  assert.deepEqual(
    kindChoices(copying).map(({ value, disabled }) => [value, disabled]),
    [
      ["enc_self", false],
      ["dec_self", false],
      ["cross", false],
      ["copy", false],
    ],
  );
  assert.deepEqual(
    kindChoices(three).map(({ value }) => value),
    ["enc_self", "dec_self", "cross"],
  );
  assert.deepEqual(
    kindChoices({ cross: size }).map(({ disabled }) => disabled),
    [true, true, false],
  );
});

test("only self-attention rolls out", () => {
  assert.deepEqual(
    (["enc_self", "dec_self", "cross", "copy"] as const).filter((kind) => hasRollout(kind, size)),
    ["enc_self", "dec_self"],
  );
});

test("a row knows how much of it was copied, a word as the mean of its pieces", () => {
  const copied = (params: Record<string, string>) => {
    const found = pictureOf(choiceOf(params, manifest)!, manifest, weights).copied;
    return found && Array.from(found);
  };
  assert.deepEqual(copied({ k: "copy" }), [0.25, 0.5, 1, 0]);
  assert.deepEqual(copied({ k: "copy", u: "words" }), [0.25, 0.75, 0]);
  assert.deepEqual(copied({ k: "copy", sp: "fold" }), [0.25, 0.5, 1]);
  assert.equal(copied({ k: "cross", l: "1", h: "1" }), null);
});
