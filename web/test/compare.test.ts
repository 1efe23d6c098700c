import assert from "node:assert/strict";
import { test } from "node:test";
import type { Arch } from "../src/api-types";
import { byDirection, chosenModels, cutsOf, switched, toggled, sameText } from "../src/lib/compare";
import { differences, marksAgainst } from "../src/lib/diff";

const card = (name: string, arch: Arch, source_language = "ko") => ({ name, arch, source_language, target_language: "en" });
const cards = [card("t2", "transformer"), card("t1", "transformer"), card("r", "rnn"), card("l", "luong"), card("x", "rnn", "de")];
const names = (list: readonly { name: string }[]) => list.map(({ name }) => name);

test("three architectures stand side by side unless the address names models", () => {
  assert.deepEqual(names(chosenModels(undefined, cards, cards[0])), ["r", "l", "t1"]);
  assert.deepEqual(names(chosenModels("t2,t1", cards, cards[0])), ["t1", "t2"]);
  assert.deepEqual(names(chosenModels("gone,t1", cards, cards[0])), ["r", "l", "t1"]);
  assert.deepEqual(names(chosenModels("t1,t1", cards, cards[0])), ["r", "l", "t1"]);
  assert.deepEqual(names(chosenModels(undefined, cards.slice(0, 2), cards[0])), ["t1", "t2"]);
  assert.deepEqual(names(chosenModels(undefined, cards, cards[4])), ["x"]);
  assert.deepEqual(toggled(["a", "b", "c"], "d"), ["b", "c", "d"]);
  assert.deepEqual(toggled(["a", "b"], "a"), ["a", "b"]);
  assert.deepEqual(toggled(["a", "b", "c"], "b"), ["a", "c"]);
});

test("cuts rise to the whole sentence, twelve or so at the most", () => {
  assert.deepEqual(cutsOf(1), []);
  assert.deepEqual(cutsOf(4), [1, 2, 3, 4]);
  for (let n = 2; n < 300; n++) {
    const cuts = cutsOf(n);
    assert.equal(cuts[cuts.length - 1], n);
    assert.ok(cuts.length <= 12 && cuts.every((cut, i) => i === 0 || cut > cuts[i - 1]));
  }
});

test("words that differ are marked, with how many lack them", () => {
  assert.deepEqual(differences(["1998-03-24", "1998-03-24"]), [[], []]);
  const [a, b, c] = differences(["I saw a film", "I saw a movie", "I saw a movie"]);
  assert.deepEqual(a, [{ span: [8, 12], lacking: 2 }]);
  assert.deepEqual(b, [{ span: [8, 13], lacking: 1 }]);
  assert.deepEqual(c, b);
  assert.deepEqual(marksAgainst("😀 yes", ["😀 no"]), [{ span: [2, 5], lacking: 1 }]);
  assert.deepEqual(marksAgainst("", ["x"]), []);
});

test("an answer is right when only white space tells it from the reference", () => {
  assert.ok(sameText(" 1998-03-24 ", "1998-03-24") && sameText("a  b", "a b"));
  assert.ok(!sameText("1998-03-25", "1998-03-24") && !sameText("", "1998-03-24"));
});

test("a click on a model of another direction begins a set of that direction", () => {
  const all = [...cards, card("y", "luong", "de")];
  const [t2, t1, r, l, x, y] = all;
  assert.deepEqual(byDirection(all).map(names), [
    ["t2", "t1", "r", "l"],
    ["x", "y"],
  ]);
  assert.deepEqual(switched([r, l, t1], all, y), ["x", "y"]);
  assert.deepEqual(switched([x, y], all, t2), ["r", "l", "t2"]);
  assert.deepEqual(switched([r, l, t1], all, l), ["r", "t1"]);
  assert.deepEqual(switched([r, x, y], all, x), ["x", "y"]);
});
