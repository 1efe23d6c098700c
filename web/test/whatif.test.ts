/** Interventions: what is offered, forms that stay right, reasons of the server. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Card } from "../src/api-types";
import {
  begin,
  change,
  complete,
  editOf,
  fieldsOf,
  lookedAt,
  maskAt,
  offered,
  refused,
  moved,
  silenced,
  withRow,
  withWeight,
  type OpName,
} from "../src/lib/interventions";
import { decodeOps, encodeOps } from "../src/lib/link";

const base = {
  source_language: "ko",
  target_language: "en",
  parameters: 1,
  fingerprint: "",
  max_length: 64,
  d_model: 8,
  decoding: {},
  limits: {},
  run: null,
  examples: [],
  score: null,
  context: false,
  source: "text",
  image: null,
  sentences: "as-is",
  confidence: false,
  lowest_score: null,
  neighbours: false,
  members: [],
} as const;
const size = { layers: 2, heads: 4, d_head: 2 };
const transformer: Card = {
  ...base,
  name: "t",
  arch: "transformer",
  positions: "sinusoidal",
  kinds: { enc_self: { layers: 1, heads: 2, d_head: 4 }, dec_self: size, cross: size },
};
const luong: Card = { ...base, name: "l", arch: "luong", positions: null, kinds: { cross: { layers: 1, heads: 1, d_head: 8 } } };
const rnn: Card = { ...base, name: "r", arch: "rnn", positions: null, kinds: {} };

test("a model is offered only what applies to it", () => {
  assert.deepEqual(offered(rnn).flat(), ["bridge", "force_prefix", "ban", "require", "replace_source"]);
  assert.deepEqual(offered(luong).flat(), [
    "mask_head",
    "scale_head",
    "uniform",
    "mask_edge",
    "set_row",
    "bridge",
    "force_prefix",
    "ban",
    "require",
    "replace_source",
  ]);
  assert.equal(offered(transformer).flat().length, 11);
  assert.ok(
    !offered({ ...transformer, positions: "none" })
      .flat()
      .includes("positions"),
  );
  assert.ok(
    !offered({ ...transformer, source: "image" })
      .flat()
      .includes("replace_source"),
    "a picture has no words",
  );
  assert.ok(
    offered({ ...transformer, score: "scaled_dot" })
      .flat()
      .includes("no_scale"),
  );
  assert.ok(
    !offered({ ...transformer, score: "dot" })
      .flat()
      .includes("no_scale"),
    "it divides by nothing that could be left out",
  );
});

test("every intervention begins with its fields, and survives an address", () => {
  for (const card of [transformer, luong, rnn])
    for (const name of offered(card).flat()) {
      const op = begin(name, card);
      assert.equal(op.op, name);
      assert.ok(fieldsOf(op).length > 0, name);
      assert.deepEqual(decodeOps(encodeOps([op])), [op]);
    }
});

test("only those that need a text are incomplete at first", () => {
  const names = [...new Set([transformer, rnn].flatMap((card) => offered(card).flat()))];
  const waiting = names.filter((name) => !complete(begin(name, transformer)));
  assert.deepEqual(waiting.sort(), ["ban", "force_prefix", "require"] satisfies OpName[]);
  assert.ok(!complete({ op: "bridge", mode: "swap", text: " " }));
  assert.ok(complete({ op: "bridge", mode: "swap", text: "x" }));
});

test("another kind of attention keeps layer and head within it", () => {
  const op = { op: "mask_head", kind: "cross", layer: 1, head: 3 };
  assert.deepEqual(change(op, "kind", "enc_self", transformer), { op: "mask_head", kind: "enc_self", layer: 0, head: 1 });
  const edge = { op: "mask_edge", kind: "cross", layer: "*", head: "*", q: 5, k: 2 };
  assert.deepEqual(change(edge, "kind", "dec_self", transformer), { ...edge, kind: "dec_self", q: 0, k: 0 });
});

test("a mode takes its fields along and leaves those of others behind", () => {
  const shift = change({ op: "positions", mode: "none", side: "target" }, "change", "shift", transformer);
  assert.deepEqual(shift, { op: "positions", mode: "shift", side: "target", by: 1 });
  assert.deepEqual(fieldsOf(shift), ["side", "change", "by"]);
  assert.deepEqual(change(shift, "change", "shuffle", transformer), { op: "positions", mode: "shuffle", side: "target", seed: 1 });
  const swap = { op: "bridge", mode: "swap", text: "x" };
  assert.deepEqual(change(swap, "start", "zero", rnn), { op: "bridge", mode: "zero" });
  assert.deepEqual(change({ op: "ban", text: [] }, "lines", " a b \n\nc", rnn), { op: "ban", text: ["a b", "c"] });
  assert.deepEqual(change({ op: "set_row", q: 1, weights: { "0": 1 } }, "key", 4, transformer).weights, { "4": 1 });
});

test("a silenced head is found, and only that one", () => {
  const ops = [
    { op: "ban", text: ["a"] },
    { op: "mask_head", kind: "cross", layer: 1, head: 2 },
    { op: "mask_head", kind: "cross", layer: "*", head: 0 },
  ];
  assert.equal(maskAt(ops, "cross", 1, 2), 1);
  assert.equal(maskAt(ops, "cross", 0, 0), -1);
});

test("the server's reason says which intervention it is about", () => {
  const field = "interventions.1.layer";
  assert.deepEqual(refused({ field, detail: `${field}: layer 5 does not exist` }), { at: 1, reason: "layer 5 does not exist" });
  assert.deepEqual(refused({ field: "interventions.0", detail: "no scale" }), { at: 0, reason: "no scale" });
  assert.deepEqual(refused({ field: "interventions", detail: "too many" }), { at: null, reason: "too many" });
  assert.deepEqual(refused({ field: null, detail: "the text is too long" }), { at: null, reason: "the text is too long" });
});

test("an intervention begins at what is looked at", () => {
  const at = (params: Record<string, string>) => begin("mask_head", transformer, lookedAt(params, transformer));
  assert.deepEqual(at({ l: "2", h: "2" }), { op: "mask_head", kind: "cross", layer: 1, head: 1 });
  assert.deepEqual(at({ k: "enc_self", l: "1", h: "2" }), { op: "mask_head", kind: "enc_self", layer: 0, head: 1 });
  assert.deepEqual(at({ l: "1", h: "mean" }), { op: "mask_head", kind: "cross", layer: 0, head: "*" });
  assert.deepEqual(at({ r: "1.3" }), { op: "mask_head", kind: "cross", layer: 0, head: 2 });
  assert.deepEqual(at({ k: "nonsense", l: "9", h: "0", r: "x" }), { op: "mask_head", kind: "cross", layer: 1, head: 0 });
  const cut = begin("mask_edge", transformer, lookedAt({ q: "3", j: "2" }, transformer));
  assert.deepEqual([cut.q, cut.k], [3, 2]);
});

test("an edited head is known by any way of naming it", () => {
  const ops = [
    { op: "mask_head", kind: "cross", layer: "*", head: [0, 2] },
    { op: "uniform", kind: "enc_self", layer: 1, head: "*" },
  ];
  assert.equal(editOf(ops, "cross", 1, 2), "silenced");
  assert.equal(editOf(ops, "cross", 1, 1), null);
  assert.equal(editOf(ops, "enc_self", 1, 3), "changed");
  assert.equal(editOf(ops, "enc_self", 0, 3), null);
  const whole = [{ op: "no_scale", kind: "cross" }];
  assert.equal(editOf(whole, "cross", 0, 0), null);
});

test("silencing a head twice brings it back", () => {
  const once = silenced([], "cross", 1, 2);
  assert.deepEqual(once, [{ op: "mask_head", kind: "cross", layer: 1, head: 2 }]);
  assert.deepEqual(silenced(once, "cross", 1, 2), []);
});

test("a row with one weight set still sums to 1, and keeps the proportions of the others", () => {
  const row = [0.5, 0.3, 0.2, 0];
  const set = withWeight(row, 0, 0.1);
  assert.deepEqual(
    set.map((value) => Number(value.toFixed(6))),
    [0.1, 0.54, 0.36, 0],
  );
  for (const value of [-1, 0, 0.25, 1, 7]) {
    for (const given of [row, [1, 0, 0, 0], [0, 0, 0, 0]]) {
      const sum = withWeight(given, 0, value).reduce((a, b) => a + b, 0);
      assert.ok(Math.abs(sum - 1) < 1e-9, `${given} with ${value} sums to ${sum}`);
    }
  }
  assert.deepEqual(withWeight([1, 0, 0, 0], 0, 0.4, [1, 1, 1, 0]), [0.4, 0.3, 0.3, 0]);
  assert.deepEqual(withWeight([1], 0, 0.4), [1]);
});

test("a link led elsewhere takes its weight along", () => {
  assert.deepEqual(moved([0.5, 0.25, 0.25], 0, 2), [0, 0.25, 0.75]);
  assert.deepEqual(moved([0.5, 0.25, 0.25], 1, 1), [0.5, 0.25, 0.25]);
});

test("a row that is set again replaces what it was set to", () => {
  const where = { kind: "cross", layer: 1, head: 0 } as const;
  const once = withRow([], where, 2, [0, 0.33333, 0.66667]);
  assert.deepEqual(once, [{ op: "set_row", kind: "cross", layer: 1, head: 0, q: 2, weights: { 1: 0.3333, 2: 0.6667 } }]);
  const twice = withRow(once, where, 2, [1, 0, 0]);
  assert.deepEqual(
    twice.map((op) => op.weights),
    [{ 0: 1 }],
  );
  assert.equal(withRow(twice, where, 3, [1, 0, 0]).length, 2);
  assert.equal(withRow(twice, { ...where, head: "*" }, 2, [1, 0, 0]).length, 2);
});
