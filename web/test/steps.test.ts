/** One training step and free running: the arithmetic that the page writes out, and what it offers to put in. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunToken, UpdateRule, WeightUpdate } from "../src/api-types";
import { outcome, wrongTokens } from "../src/learn/parts/slips";
import { updateLines } from "../src/learn/parts/update";

const rule = (name: UpdateRule["name"], number = 1, weight_decay = 0): UpdateRule => ({
  name,
  lr: 0.001,
  number,
  betas: [0.9, 0.98],
  eps: 1e-9,
  weight_decay,
});
const weight = (more: Partial<WeightUpdate> = {}): WeightUpdate => ({
  name: "w",
  index: [0, 0],
  before: -0.1819368302822113,
  gradient: -0.9930910468101501,
  by_token: [],
  m_before: 0,
  v_before: 0,
  m: 0,
  v: 0,
  after: 0,
  ...more,
});
const values = (...args: Parameters<typeof updateLines>) => new Map(updateLines(...args).map((line) => [line.name, line.value]));
const near = (found: number, wanted: number) => assert.ok(Math.abs(found - wanted) < 1e-6, `${found} is not ${wanted}`);

test("Adam's first step has the size of the rate, as the trainer's optimiser takes it", () => {
  const found = values(weight(), rule("adam"));
  near(found.get("m")!, -0.09930910915136337);
  near(found.get("v")!, 0.019724596291780472);
  near(found.get("m̂")!, -0.9930910468101501);
  near(found.get("θ′")!, -0.18093682825565338);
});

test("later steps correct m and v less, and AdamW takes a share of the weight off first", () => {
  const one = weight({ before: 2, gradient: 0.5, m_before: 0.1, v_before: 0.04 });
  const found = values(one, rule("adamw", 3, 0.01));
  near(found.get("m")!, 0.14);
  near(found.get("v")!, 0.0442);
  near(found.get("m̂")!, 0.14 / 0.271);
  near(found.get("v̂")!, 0.0442 / 0.058808);
  near(found.get("θ")!, 1.99998);
  near(found.get("θ′")!, 1.99998 - (0.001 * (0.14 / 0.271)) / Math.sqrt(0.0442 / 0.058808));
});

test("SGD adds the gradient to what it remembers", () => {
  const found = updateLines(weight({ before: 1, gradient: -2, m_before: 3, v_before: null }), rule("sgd", 2));
  assert.deepEqual(
    found.map((line) => line.name),
    ["m", "θ′"],
  );
  near(found[0].value, 0.7);
  near(found[1].value, 1 - 0.0007);
  assert.equal(found[0].numbers, "0.9·3 + (−2)");
});

const token = (text: string, ...best: string[]): RunToken => ({
  text,
  id: 7,
  right: true,
  loss: 0,
  best: best.map((one, id) => ({ text: one, id, p: 0.1 })),
});

test("a digit can become any other digit, another token what the model finds probable", () => {
  const tokens = [token("3"), token("-", "-", "</s>", "T", "/")];
  assert.deepEqual(wrongTokens({ tokens }, 0), ["4", "5", "6", "7", "8", "9", "0", "1", "2"]);
  assert.deepEqual(wrongTokens({ tokens }, 1), ["T", "/"]);
});

test("who recovered, as one of four answers", () => {
  const all = ["rnn", "luong", "transformer"] as const;
  assert.equal(outcome([], all), 0);
  assert.equal(outcome(["luong", "transformer"], all), 1);
  assert.equal(outcome([...all], all), 2);
  assert.equal(outcome(["rnn", "luong"], all), 3);
  assert.equal(outcome(["luong"], all), 3);
  assert.equal(outcome(["luong"], ["luong"]), 2);
});
