/** The plane in which states spread most. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { uniform } from "../src/lib/chance";
import { eigen, planeOf } from "../src/local/plane";

const near = (a: number, b: number) => assert.ok(Math.abs(a - b) < 1e-9, `${a}, ${b}`);

test("A v = λ v, the vectors have length 1 and stand upright on each other", () => {
  const draw = uniform(3);
  const n = 12;
  const half = Array.from({ length: n }, () => Float64Array.from({ length: n }, () => draw() - 0.5));
  const matrix = half.map((row, i) => row.map((x, j) => x + half[j][i]));
  const { values, vectors } = eigen(matrix);
  const column = (k: number) => vectors.map((row) => row[k]);
  for (let k = 0; k < n; k++) {
    const v = column(k);
    matrix.forEach((row, i) =>
      near(
        row.reduce((sum, x, j) => sum + x * v[j], 0),
        values[k] * v[i],
      ),
    );
    for (let l = 0; l < n; l++)
      near(
        column(l).reduce((sum, x, i) => sum + x * v[i], 0),
        k === l ? 1 : 0,
      );
  }
});

test("directions that differ along one axis lie on a line, and all of the spread is there", () => {
  const plane = planeOf(Float32Array.of(3, 4, 0, 3, -4, 0), 3);
  near(plane.shares[0], 1);
  near(plane.shares[1], 0);
  const [up, down] = [plane.place([3, 4, 0]), plane.place([3, -4, 0])];
  near(up[0], 0.8);
  near(down[0], -0.8);
  near(up[1], 0);
});

test("states that are all the same have a plane too", () => {
  const plane = planeOf(Float32Array.of(1, 2, 1, 2), 2);
  assert.deepEqual(plane.shares, [0, 0]);
  assert.deepEqual(plane.place([1, 2]), [0, 0]);
});
