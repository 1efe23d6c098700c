import assert from "node:assert/strict";
import { test } from "node:test";
import type { EvalBin, EvalOut, EvalDocument } from "../src/api-types";
import { casesOf, dataSets, difference, labelsOf, metricsOf, rareLengths, spansOf, metricOf } from "../src/lib/quality";

const card = (model: string, run: string, data = "test"): EvalOut => ({ id: `${run}:${data}`, run, model, data, n: 10, metrics: {} });
const doc = (bins: EvalBin[], examples: EvalDocument["examples"] = []): EvalDocument => ({
  schema: "eval/1",
  model: "m",
  data: { name: "test", n: 10 },
  decode: {},
  metrics: { bleu: { value: 1 }, exact: { value: 2 } },
  by_length: { unit: "source_words", bins },
  examples,
});

test("systems of one name are told apart by their run; the fullest data set comes first", () => {
  assert.deepEqual(labelsOf([card("rnn", "demo~a"), card("rnn", "demo~b"), card("luong", "c")]), ["rnn (demo/a)", "rnn (demo/b)", "luong"]);
  assert.deepEqual(dataSets([card("a", "a", "x"), card("b", "b", "y"), card("c", "c", "y")]), ["y", "x"]);
});

test("values with intervals, and what is missing is null", () => {
  const bin: EvalBin = { lo: 1, hi: 10, n: 5, bleu: 30, bleu_ci95: [28, 33], exact: null };
  assert.deepEqual(metricOf(bin, "bleu"), { value: 30, low: 28, high: 33 });
  assert.deepEqual(metricOf(bin, "exact"), { value: null, low: null, high: null });
  const delta = difference({ value: 30, low: 27, high: 33 }, { value: 20, low: 16, high: 24 });
  assert.deepEqual(delta, { value: 10, low: 5, high: 15 });
  assert.equal(difference(metricOf(bin, "bleu"), metricOf(bin, "exact")).value, null);
  assert.deepEqual(metricsOf([doc([{ ...bin, length_ratio: 0.9 }])]), ["bleu", "length_ratio"]);
});

test("bins are spans; an open end is as wide as the bin before", () => {
  const spans = spansOf([
    doc([
      { lo: 1, hi: 10, n: 5 },
      { lo: 11, hi: null, n: 3, thin: true },
    ]),
    doc([{ lo: 1, hi: 10, n: 7 }]),
  ]);
  assert.deepEqual(
    spans.map(({ lo, hi, n, label, thin }) => [lo, hi, n, label, thin]),
    [
      [1, 10, 7, "1–10", false],
      [11, 20, 3, "11+", true],
    ],
  );
});

test("lengths that training hardly had are grey, gaps and the far end too", () => {
  assert.deepEqual(
    rareLengths(
      [
        [1, 10, 1000],
        [11, 20, 10],
        [31, 40, 900],
      ],
      0.5,
      60.5,
    ),
    [
      { from: 10.5, to: 30.5 },
      { from: 40.5, to: 60.5 },
    ],
  );
  assert.deepEqual(rareLengths(null, 0, 50), []);
});

test("sentences of a bin, the worst answer first, with the answers of all systems", () => {
  const example = (line: number, chrf: number, hypothesis: string) => ({ line, chrf, source: `s${line}`, reference: "r", hypothesis });
  const bin = (examples: number[]): EvalBin => ({ lo: 1, hi: 10, n: 5, examples });
  const cases = casesOf(
    [doc([bin([4, 2])], [example(4, 50, "a"), example(2, 90, "b")]), doc([bin([2, 4])], [example(2, 20, "c"), example(4, 99, "d")])],
    1,
  );
  assert.deepEqual(
    cases.map((one) => [one.line, one.worst, one.answers.length]),
    [
      [2, 20, 2],
      [4, 50, 2],
    ],
  );
  assert.deepEqual(casesOf([doc([bin([7])])], 1), []);
});
