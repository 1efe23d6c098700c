import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunDetails, RunOut } from "../src/api-types";
import {
  bytesOf,
  chosenRuns,
  extend,
  placeOf,
  points,
  directionsIn,
  scoreNames,
  shareDone,
  shortNames,
  stories,
  type RunData,
} from "../src/lib/training";
import { wordDiff } from "../src/lib/words";

const card = (name: string, updated: string): RunOut => ({
  name,
  title: name,
  reason: null,
  status: "running",
  arch: "luong",
  step: 10,
  max_steps: 100,
  elapsed_s: 5,
  time_limit: null,
  best: { metric: "exact", value: 1, step: 10 },
  updated,
});
const detail: RunDetails = {
  ...card("a", "2026-01-01"),
  config: {},
  series: ["train.loss"],
  notices: [],
  samples: [],
  probes: [],
  start: null,
  offset: 0,
};
const run: RunData = { detail, series: { "train.loss": { step: [10, 20], elapsed_s: [1, 2], value: [3, 2] } } };

test("a run is as far as its steps or its time, whichever ends it first", () => {
  assert.equal(shareDone({ step: 10, max_steps: 100, elapsed_s: 5, time_limit: null }), 0.1);
  assert.equal(shareDone({ step: 10, max_steps: null, elapsed_s: 5, time_limit: 10 }), 0.5);
  assert.equal(shareDone({ step: 10, max_steps: 100, elapsed_s: 50, time_limit: 10 }), 1);
  assert.equal(shareDone({ step: 10, max_steps: null, elapsed_s: null, time_limit: 10 }), null);
});

test("events extend the curves, and after a resume the newest value for a step counts", () => {
  const next = extend(run, [
    { type: "train", step: 20, loss: 1.9, elapsed_s: 2.5, lr: 0.1 },
    {
      type: "valid",
      step: 20,
      loss: 1.5,
      bleu: 12,
      samples: [{ src: "s", ref: "r", hyp: "h", score: -1 }],
      probe: "probes/step-0000020.safetensors",
    },
    { type: "valid", step: 20, loss: 9, averaged: 5 },
    { type: "checkpoint", step: 20, best: true, metric: 12 },
    { type: "notice", step: 20, level: "warning", code: "loss_spike", message: "m" },
    { type: "train", step: 30, loss: null },
  ]);
  assert.deepEqual(next.series["train.loss"], { step: [10, 20], elapsed_s: [1, 2.5], value: [3, 1.9] });
  assert.deepEqual(next.series["valid.loss"], { step: [20], elapsed_s: [2.5], value: [1.5] });
  assert.deepEqual(next.series["train.lr"].value, [0.1]);
  assert.equal(next.detail.step, 30);
  assert.equal(next.detail.notices.length, 1);
  assert.deepEqual(next.detail.probes, [20]);
  assert.deepEqual(next.detail.best, { metric: "exact", step: 20, value: 12 });
  assert.equal(run.series["train.loss"].value[1], 2, "the run before is untouched");
  assert.deepEqual(scoreNames([next]), ["bleu"]);
  assert.equal(extend(next, [{ type: "end", status: "failed", reason: "nan" }]).detail.status, "failed");
});

test("each of several directions has its curve", () => {
  const next = extend(run, [
    { type: "valid", step: 20, bleu: 30, directions: { "de→en": { bleu: 40, loss: 1 }, "en→de": { bleu: 20 } } },
    { type: "valid", step: 30, bleu: 32, directions: { "de→en": { bleu: 41 } } },
  ]);
  assert.deepEqual(next.series["valid.bleu de→en"].value, [40, 41]);
  assert.deepEqual(directionsIn([next], "bleu"), ["de→en", "en→de"]);
  assert.deepEqual(scoreNames([next]), ["bleu"]);
});

test("scores of every task have curves, and of an error rate the lowest is best", () => {
  const judged: RunData = { ...run, detail: { ...detail, best: null } };
  const next = extend(judged, [
    { type: "valid", step: 20, per: 31.5, rouge1: 20, rougeL: 18 },
    { type: "valid", step: 30, per: 30 },
  ]);
  assert.deepEqual(scoreNames([next]), ["rouge1", "rougeL", "per"]);
  assert.deepEqual(next.series["valid.per"].value, [31.5, 30]);
  const best = extend({ ...run, detail: { ...detail, best: { metric: "per", value: 40, step: 10 } } }, [
    { type: "checkpoint", step: 20, best: true, metric: -31.5 },
  ]);
  assert.deepEqual(best.detail.best, { metric: "per", step: 20, value: 31.5 });
});

test("a curve that grows without end stays bounded", () => {
  const events = Array.from({ length: 9000 }, (_, i) => ({ type: "train" as const, step: 21 + i, loss: i === 4444 ? 99 : 1 }));
  const { value } = extend(run, events).series["train.loss"];
  assert.ok(value.length <= 4000 && value.includes(99));
});

test("wall-clock time goes on after a resume and leaves out what has no time", () => {
  const series = { step: [1, 2, 3, 4], elapsed_s: [10, null, 20, 5], value: [1, 2, 3, 4] };
  assert.deepEqual(points(series, "time"), { x: [10, 20, 25], y: [1, 3, 4] });
  assert.deepEqual(points(series, "step").x, [1, 2, 3, 4]);
  assert.deepEqual(points(undefined, "time"), { x: [], y: [] });
  assert.equal(placeOf(3, { step: [1, 3], elapsed_s: [10, 20], value: [0, 0] }, "time"), 20);
  assert.equal(placeOf(3, undefined, "step"), 3);
});

test("equal answers in a row are one stage", () => {
  const at = (step: number, hyp: string) => ({ step, samples: [{ src: "s", ref: "r", hyp, score: -step }] });
  const [story] = stories([at(30, "b"), at(10, "a"), at(20, "a")]);
  assert.deepEqual(story.stages, [
    { from: 10, to: 20, hyp: "a", score: -20 },
    { from: 30, to: 30, hyp: "b", score: -30 },
  ]);
});

test("the runs of the address, else the three latest, in the order of the list", () => {
  const runs = [card("a", "2026-01-01"), card("b", "2026-01-09"), card("c", "2026-01-03"), card("d", "2026-01-04")];
  assert.deepEqual(
    chosenRuns(runs, undefined).map((one) => one.name),
    ["b", "c", "d"],
  );
  assert.deepEqual(
    chosenRuns(runs, "d,a,x").map((one) => one.name),
    ["a", "d"],
  );
  assert.deepEqual(shortNames(["demo/rnn", "demo/luong"]), ["rnn", "luong"]);
  assert.deepEqual(shortNames(["demo/rnn", "luong"]), ["demo/rnn", "luong"]);
});

test("words that differ from the reference", () => {
  assert.deepEqual(wordDiff("1942-05-04", "1942-11-04"), [
    { kind: "same", text: "1942-" },
    { kind: "added", text: "05" },
    { kind: "missing", text: "11" },
    { kind: "same", text: "-04" },
  ]);
  assert.deepEqual(wordDiff("같은 말", "같은 말"), [{ kind: "same", text: "같은 말" }]);
  assert.deepEqual(wordDiff("1956-03-23 x", "1956-07-30 x"), [
    { kind: "same", text: "1956-" },
    { kind: "added", text: "03-23" },
    { kind: "missing", text: "07-30" },
    { kind: "same", text: " x" },
  ]);
  for (const [text, wanted] of [
    ["a b c d", "b c x d"],
    ["", "q"],
    ["the cat sat, on", "a cat, sat on it"],
    ["x-y", "x-z-y"],
  ]) {
    const parts = wordDiff(text, wanted);
    const without = (kind: string) =>
      parts
        .filter((part) => part.kind !== kind)
        .map((part) => part.text)
        .join("");
    assert.equal(without("missing"), text);
    assert.equal(without("added"), wanted);
  }
  assert.deepEqual(wordDiff("", "a"), [{ kind: "missing", text: "a" }]);
});

test("an atlas is read from base64", () => assert.deepEqual([...bytesOf("AP8Q")], [0, 255, 16]));
