import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultDimensions, readDimensions, toggled, wavelength } from "../src/lib/positions";

test("dimensions of an address count from 1 and exist", () => {
  assert.deepEqual(readDimensions("1,9,9,99,x", 16), [0, 8]);
  assert.equal(readDimensions("0,-1", 16), null);
  assert.equal(readDimensions(undefined, 16), null);
  assert.deepEqual(defaultDimensions(64), [0, 8, 16, 32]);
  assert.deepEqual(defaultDimensions(1), [0]);
});

test("a dimension is put on and taken off, but one always stays", () => {
  assert.deepEqual(toggled([0, 8], 4), [0, 8, 4]);
  assert.deepEqual(toggled([0, 8], 8), [0]);
  assert.deepEqual(toggled([0], 0), [0]);
  assert.equal(toggled([0, 1, 2, 3, 4, 5], 6).length, 6);
});

test("pairs of dimensions share a wave, and waves grow from 2π to near 20,000π", () => {
  assert.equal(wavelength(0, 64), 2 * Math.PI);
  assert.equal(wavelength(7, 64), wavelength(6, 64));
  assert.ok(wavelength(62, 64) < 20000 * Math.PI && wavelength(62, 64) > 40000);
});
