/** Neighbours as rows, and the map as points of a picture. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Neighbours } from "../src/api-types";
import { around, neighboursTable, pointAt, scaleOf } from "../src/lib/neighbours";

const found: Neighbours = {
  source: "a b",
  target: "c",
  states: 3,
  encoder: {
    tokens: [{ text: "a", id: 5, x: 0, y: 0, near: [{ pair: 7, place: 1, similarity: 0.5 }] }],
    shares: [0.5, 0.25],
    points: [
      { x: -1, y: 0, pair: 7, place: 1 },
      { x: 1, y: 0.5, pair: 7, place: 0 },
    ],
  },
  decoder: { tokens: [], shares: [], points: [] },
  pairs: [{ n: 7, source: "x y", target: "z", encoder: ["x", "y", "</s>"], decoder: ["z", "</s>"] }],
};

test("a line for each neighbour of each token", () => {
  const head = ["token", "similarity", "seen", "source", "target"];
  assert.deepEqual(neighboursTable(found, "encoder", head), { head, rows: [["a", 0.5, "y", "x y", "z"]] });
  assert.deepEqual(neighboursTable(found, "decoder", head).rows, []);
});

test("a token in the middle of its sentence", () => {
  assert.deepEqual(around(["a", " b", "c"], 1), ["a", " b", "c"]);
  assert.deepEqual(around(["a", " b", "c", "d", "e"], 2, 1), ["… b", "c", "d…"]);
  assert.deepEqual(around(["a"], 4), ["a", "", ""]);
});

test("both axes have one scale, and everything lies inside", () => {
  const scale = scaleOf(found.encoder, 200, 100, 10);
  assert.equal(scale.x(-1), 10);
  assert.equal(scale.x(1), 190);
  assert.equal(scale.y(0) - scale.y(0.5), (scale.x(1) - scale.x(0)) / 2);
});

test("the nearest point within reach", () => {
  const scale = scaleOf(found.encoder, 200, 100, 10);
  assert.equal(pointAt(found.encoder.points, scale, [12, scale.y(0)], 5), found.encoder.points[0]);
  assert.equal(pointAt(found.encoder.points, scale, [100, 5], 5), null);
});
