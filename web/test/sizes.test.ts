import assert from "node:assert/strict";
import { test } from "node:test";
import { sizeText, waitOf } from "../src/lib/sizes";

test("sizes have two digits that count", () => {
  const found = [0, 17, 999, 1000, 1500, 9949, 9990, 320_000, 999_499, 999_500, 33_554_432, 2e12].map((size) => sizeText(size, "en"));
  assert.deepEqual(found, ["0 B", "17 B", "999 B", "1 kB", "1.5 kB", "9.9 kB", "10 kB", "320 kB", "999 kB", "1 MB", "34 MB", "2,000 GB"]);
});

test("waits are rounded up, to what a person would say", () => {
  const found = [0, 0.2, 3, 9.5, 12, 54, 55, 61, 3299, 3300, 3601, 9000].map((seconds) => {
    const { n, unit } = waitOf(seconds);
    return `${n} ${unit[0]}`;
  });
  assert.deepEqual(found, ["1 s", "1 s", "3 s", "10 s", "15 s", "55 s", "1 m", "2 m", "55 m", "1 h", "2 h", "3 h"]);
});
