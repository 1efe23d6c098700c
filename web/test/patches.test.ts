/** Pictures to tokens: each pixel where it belongs, and the sums of the projection. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { cut, freshMatrix, placeRow, project, scaled } from "../src/lib/patches";

test("every pixel is in one patch, row after row, without its alpha", () => {
  const side = 4;
  const rgba = Array.from({ length: side * side }, (_, i) => [i, 100 + i, 200 + i, 255]).flat();
  const patches = cut(rgba, side, 2);
  assert.equal(patches.length, 4);
  // the second patch: columns 2 and 3 of rows 0 and 1
  assert.deepEqual(
    [...patches[1]],
    [2, 3, 6, 7].flatMap((i) => [i, 100 + i, 200 + i]),
  );
  assert.deepEqual(new Set(patches.flatMap((one) => [...one].filter((_, i) => i % 3 === 0))).size, 16);
});

test("numbers go to −1…1, then through one matrix", () => {
  assert.deepEqual([...scaled([0, 255])], [-1, 1]);
  assert.deepEqual([...project([1, -1], Float32Array.from([1, 2, 3, 10, 20, 30]), 3)], [-9, -18, -27]);
  assert.equal(freshMatrix(12, 4, 1).length, 48);
  assert.deepEqual(freshMatrix(12, 4, 1), freshMatrix(12, 4, 1));
});

test("a place has the sines and cosines of the paper", () => {
  const row = placeRow(3, 4);
  [Math.sin(3), Math.cos(3), Math.sin(0.03), Math.cos(0.03)].forEach((value, i) => assert.ok(Math.abs(row[i] - value) < 1e-6));
});
