import assert from "node:assert/strict";
import { test } from "node:test";
import {
  bandPath,
  decimated,
  domain,
  dotPath,
  duration,
  linePath,
  logTicks,
  nearest,
  niceTicks,
  scale,
  smooth,
  spread,
  timeTicks,
  union,
} from "../src/lib/chart";

test("ticks are round numbers inside the range", () => {
  assert.deepEqual(niceTicks(0, 100, 5), [0, 20, 40, 60, 80, 100]);
  assert.deepEqual(niceTicks(0.12, 0.31, 4), [0.15, 0.2, 0.25, 0.3]);
  assert.deepEqual(niceTicks(3, 3, 4), [3]);
  assert.deepEqual(logTicks(0.001, 10, 4), [0.001, 0.1, 10]);
  assert.deepEqual(logTicks(1, 10, 5), [1, 2, 5, 10]);
  assert.deepEqual(timeTicks(0, 170, 6), [0, 30, 60, 90, 120, 150]);
  assert.deepEqual(timeTicks(0, 4 * 3600, 4), [0, 3600, 7200, 10800, 14400]);
});

test("durations read like a clock", () => {
  assert.equal(duration(2.411), "2.4 s");
  assert.equal(duration(42), "42 s");
  assert.equal(duration(185), "3:05");
  assert.equal(duration(7810), "2:10:10");
  assert.equal(duration(100_800), "1 d 4 h");
});

test("an axis holds all values, starts at zero when near it and leaves out what logarithms cannot show", () => {
  const [low, high] = domain([0.1, 4, null, NaN], false);
  assert.equal(low, 0);
  assert.ok(high > 4 && high < 5);
  const [from, to] = domain([0, -1, 0.01, 10], true);
  assert.ok(from < 0.01 && from > 0.005 && to > 10 && to < 20);
  assert.deepEqual(domain([], false), [0, 1.05]);
  assert.deepEqual(domain([20, 60], false, [0, 100]), [0, 100]);
});

test("scales map the ends, and logarithms evenly", () => {
  const y = scale([0.01, 100], [200, 0], true);
  assert.equal(y(0.01), 200);
  assert.ok(Math.abs(y(1) - 100) < 1e-9);
  assert.equal(scale([0, 10], [0, 100])(5), 50);
});

test("smoothing keeps a constant, starts at the first value, keeps gaps", () => {
  assert.deepEqual(
    smooth([2, 2, 2], 0.9).map((v) => Number(v!.toFixed(9))),
    [2, 2, 2],
  );
  assert.equal(smooth([4, 0], 0.5)[0], 4);
  assert.deepEqual(smooth([1, null, 3], 0), [1, null, 3]);
});

test("thinning keeps the ends and every extreme", () => {
  const values = Array.from({ length: 10_000 }, (_, i) => (i === 4321 ? 99 : i === 77 ? -99 : Math.sin(i)));
  const kept = decimated(values, 1000);
  assert.ok(kept.length <= 1000);
  for (const must of [0, 77, 4321, 9999]) assert.ok(kept.includes(must));
  assert.deepEqual(
    kept,
    [...kept].sort((a, b) => a - b),
  );
});

test("the nearest place", () => {
  assert.equal(nearest([10, 20, 40], 31), 2);
  assert.equal(nearest([10, 20, 40], 29), 1);
  assert.equal(nearest([10], -5), 0);
  assert.equal(nearest([], 3), -1);
  assert.deepEqual(
    union([
      [1, 3],
      [2, 3],
    ]),
    [1, 2, 3],
  );
});

test("labels keep apart, stay inside and keep their order", () => {
  const places = spread([100, 101, 102, 20], 16, 8, 200);
  const sorted = [...places].sort((a, b) => a - b);
  for (let i = 1; i < sorted.length; i++) assert.ok(sorted[i] - sorted[i - 1] >= 16 - 1e-9);
  assert.ok(places[0] < places[1] && places[1] < places[2]);
  assert.equal(places[3], 20);
  assert.equal(places[1], 101);
  assert.ok(spread([199, 200, 198], 16, 8, 200).every((y) => y <= 200 && y >= 8));
});

test("paths have gaps where values are missing", () => {
  assert.equal(linePath([[0, 1], [2, 3], null, [4, 5]]), "M0 1L2 3M4 5h0");
  assert.equal(dotPath([[1, 2], null]), "M1 2h0");
  assert.equal(
    bandPath(
      [[0, 1], [2, 1], null],
      [
        [0, 5],
        [2, 5],
        [4, 5],
      ],
    ),
    "M0 1L2 1L2 5L0 5Z",
  );
});
