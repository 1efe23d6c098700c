import assert from "node:assert/strict";
import { test } from "node:test";
import { ablationTable, base, binName, clock, colour, type Entry, firsts, type Report, score, size, telling, top } from "../src/lib/report";
import { sectionsOf } from "../src/report/sections";

const quality = (value: number, hypothesis: string): Entry["quality"] => ({
  value,
  ci95: [value - 1, value + 1],
  n: 40,
  metrics: { bleu: { value } },
  by_length: {
    unit: "source_words",
    trained_to: 9,
    bins: [
      { lo: 1, hi: 9, n: 30, value, ci95: null, beyond: false },
      { lo: 10, hi: null, n: 10, value: null, ci95: null, thin: true, beyond: true },
    ],
  },
  examples: [
    { source: "a", reference: "A", hypothesis },
    { source: "b", reference: "B", hypothesis: "b" },
  ],
});

const entry = (name: string, arch: string, more: Partial<Entry> = {}): Entry => ({
  ...{ name, arch, group: "plain", seed: 1, status: "completed", error: null, changes: {}, settings: { seed: 1 } },
  ...{ quality: quality(20, name), attention: null, influence: null, growth: null },
  ...more,
});

const report = (...entries: Entry[]): Report => ({
  ...{ title: "t", made: "", version: "", command: "", data: {}, machine: {}, entries, groups: [], slopes: [], summary: [] },
  budget: { kind: "steps", value: 10, matched: true, spread: 0 },
  metric: { name: "bleu", lower_is_better: false, signature: "" },
  pairs: entries.includes(changed) ? [{ before: "luong", after: "luong no-scale", delta: -3.14, p: 0.0001, resamples: 1000 }] : [],
});

const plain = [entry("rnn", "rnn"), entry("rnn-s2", "rnn", { seed: 2 }), entry("luong", "luong")];
const changed = entry("luong no-scale", "luong", { group: "no-scale", changes: { "model.scaled": false } });
const failed = entry("luong no-norm", "luong", { group: "no-norm", status: "failed", quality: null, curves: null });

test("a tie is rounded as the summary rounds it", () => {
  assert.deepEqual([60.25, 60.75, -60.25, 60.35, 60.45, 0].map(score), ["60.2", "60.8", "−60.2", "60.4", "60.5", "0.0"]);
});

test("sizes, times and bins in words", () => {
  assert.deepEqual([0, 999, 402_653_184, 2e15].map(size), ["0 B", "999 B", "403 MB", "2000 TB"]);
  assert.deepEqual([71, 185, 3600].map(clock), ["71 s", "3 min 5 s", "60 min 0 s"]);
  assert.equal(binName({ lo: 4, hi: 4, n: 1, value: null, ci95: null }), "4");
});

test("seeds share a colour, and an ablation is compared with the plain entry of its seed", () => {
  const all = report(...plain, changed);
  assert.deepEqual(
    all.entries.map((one) => colour(all, one)),
    [2, 2, 3, 3],
  );
  assert.deepEqual(
    firsts(all).map((one) => one.name),
    ["rnn", "luong"],
  );
  assert.equal(base(all, changed)?.name, "luong");
  const [row] = ablationTable(all, "luong", [changed]).rows;
  assert.deepEqual(row.slice(1), [
    "scores are not divided by √d_k (model.scaled=false)",
    "20.0 [19.0, 21.0]",
    "−3.1",
    "< 0.001",
    "completed",
  ]);
});

test("an axis ends at 100 only where values come near", () => {
  assert.deepEqual([top("bleu", [40, null]), top("exact", [99.5]), top("ter", [120])], [null, 100, null]);
});

test("examples are those that models answer differently, and all of a lone model", () => {
  const said = (of: Report) => telling(of).map((one) => one.source);
  assert.deepEqual(said(report(...plain)), ["a"]);
  assert.deepEqual(said(report(plain[0])), ["a", "b"]);
  assert.deepEqual(said(report(failed)), []);
});

test("a section without anything to show is left out, and an entry that failed keeps its row", () => {
  const ids = (of: Report) => sectionsOf(of).map((one) => one.id);
  assert.deepEqual(ids(report()), ["settings"]);
  assert.deepEqual(ids(report(failed)), ["table", "ablations", "settings"]);
  assert.deepEqual(ids(report(...plain, changed, failed)), ["table", "length", "beyond", "ablations", "examples", "settings"]);
  const figure = sectionsOf(report(...plain, changed, failed))[3].figures![0];
  assert.ok(figure && "rows" in figure);
  assert.deepEqual(
    figure.rows.map((row) => row.text),
    ["20.0 [19.0, 21.0]", "20.0 (−3.1)", "failed"],
  );
});
