/** The Inside screen of a model with relative positions: a stage more, and scores that hold its bias from there on. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Manifest } from "../src/api-types";
import type { Tensor } from "../src/lib/safetensors";
import { choiceOf, headOf, needsOf, stagesOf } from "../src/screens/inside/head";

const size = { layers: 1, heads: 1, d_head: 2 };
const token = (i: number, text: string) => ({ i, id: i, text, piece: text, type: "normal", span: null, word: i });
const side = { text: "a b", lang: "en", dir: "ltr", tokens: [token(0, "a"), token(1, "b")], words: [] };
const stages = ["q", "k", "v", "scores", "scaled", "mask", "weights", "context", "out"];
const of = (more: string[]) =>
  ({
    model: { arch: "transformer", kinds: { enc_self: size }, score: "scaled_dot" },
    source: side,
    target: side,
    attention: { enc_self: { q: "source", k: "source", causal: false, stages: [...stages, ...more] } },
  }) as unknown as Manifest;
const square = (...data: number[]): Tensor => ({ dtype: "F32", shape: [2, 2], data: Float32Array.from(data) }) as unknown as Tensor;

test("a model with a bias has it between scaling and mask, others as before", () => {
  const [plain, relative] = [of([]), of(["bias"])];
  assert.equal(choiceOf({ stage: "7" }, plain)!.stage, 1);
  assert.equal(choiceOf({ stage: "7" }, relative)!.stage, 7);
  assert.equal(choiceOf({ stage: "6" }, plain)!.stage, 6);
  assert.equal(choiceOf({ stage: "0" }, relative)!.stage, 1);
  assert.ok(!needsOf(choiceOf({}, plain)!, plain).some((need) => need.includes("bias")));
  assert.equal(needsOf(choiceOf({}, relative)!, relative).at(-1), "enc_self.bias:0.0");
});

test("what the mask is given is the scaled score and its bias", () => {
  const manifest = of(["bias"]);
  const choice = choiceOf({}, manifest)!;
  const tensors = new Map(needsOf(choice, manifest).map((need) => [need, square(1, 2, 3, 4)] as const));
  tensors.set("enc_self.bias:0.0", square(0.5, -1, 0, 2));
  const head = headOf(manifest, choice, tensors)!;
  assert.deepEqual(Array.from(head.placed.data), [1.5, 1, 3, 6]);
  assert.deepEqual(stagesOf(head), [1, 2, 7, 3, 4, 5, 6]);
  assert.equal(head.states, null);
  tensors.delete("enc_self.bias:0.0");
  assert.equal(headOf(manifest, choice, tensors), null);
});

test("without a bias nothing is added", () => {
  const manifest = of([]);
  const choice = choiceOf({}, manifest)!;
  const tensors = new Map(needsOf(choice, manifest).map((need) => [need, square(1, 2, 3, 4)] as const));
  const head = headOf(manifest, choice, tensors)!;
  assert.equal(head.placed, head.scaled);
  assert.deepEqual(stagesOf(head), [1, 2, 3, 4, 5, 6]);
});
