/** Votes of an ensemble as rows. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Votes, VoteStep } from "../src/api-types";
import { firstDispute, votesTable, wishes } from "../src/lib/votes";

const token = (text: string, id: number, p: number, members: number[]) => ({ text, id, p, members });
const agreed: VoteStep = { ...token("a", 1, 0.9, [0.9, 0.9]), favourites: [1, 1], candidates: [token("a", 1, 0.9, [0.9, 0.9])] };
const disputed: VoteStep = {
  ...token("b", 2, 0.6, [0.2, 1]),
  favourites: [3, 2],
  candidates: [token("b", 2, 0.6, [0.2, 1]), token("c", 3, 0.4, [0.8, 0])],
};
const member = (name: string) => ({ name, arch: "rnn", weight: 0.5, agrees: 1 });
const votes: Votes = {
  source: "x",
  target: "ab",
  mean: "probabilities",
  members: [member("one"), member("two")],
  steps: [agreed, disputed],
};

test("who wanted another token, and how much", () => {
  assert.deepEqual(wishes(votes, agreed), []);
  assert.deepEqual(wishes(votes, disputed), [{ member: "one", text: "c", p: 0.8 }]);
});

test("the first step at which they part is shown first", () => {
  assert.equal(firstDispute(votes), 1);
  assert.equal(firstDispute({ ...votes, steps: [agreed, agreed] }), 0);
});

test("a line for each candidate of each step", () => {
  assert.deepEqual(votesTable(votes, { step: "step", token: "token", together: "together" }), {
    head: ["step", "token", "together", "one", "two"],
    rows: [
      [1, "a", 0.9, 0.9, 0.9],
      [2, "b", 0.6, 0.2, 1],
      [2, "c", 0.4, 0.8, 0],
    ],
  });
});
