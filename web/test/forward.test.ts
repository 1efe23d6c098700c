/** The arithmetic of a cell of a forward pass, from inputs whose result is known. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ForwardTensor } from "../src/api-types";
import { bytesOf, gridOf, groupsOf, inputNeeds, labelsFor, lettersOf, placeOf, reckon, type Line, type Pass } from "../src/lib/forward";
import { matrix } from "../src/lib/matrix";

const tensor = (
  how: ForwardTensor["how"],
  axes: string,
  shape: number[],
  inputs: number[] = [],
  number: number | null = null,
): ForwardTensor => ({
  stage: "encoder layer 1",
  operation: how,
  axes,
  shape,
  dtype: "float32",
  how,
  inputs,
  number,
  detail: false,
});
const m = (rows: number[][]) => matrix(rows.length, rows[0].length, Float32Array.from(rows.flat()));
const here = { head: 0, row: 0, col: 1 };
/** What the last line comes to when it is computed again from its parts. */
const result = (lines: readonly Line[]): number => {
  const line = lines.at(-1)!;
  if (line.kind === "sum") return Array.from(line.values).reduce((a, b) => a + b, 0);
  if (line.kind === "softmax") {
    const e = Array.from(line.scores, (x, i) => (line.mask[i] ? Math.exp(x) : 0));
    return e[line.at] / e.reduce((a, b) => a + b, 0);
  }
  return line.compute(...line.parts.filter((part) => typeof part === "number"));
};
const close = (found: number, expected: number) => assert.ok(Math.abs(found - expected) < 1e-5, `${found} is not ${expected}`);

const x = m([
  [1, 2],
  [3, 4],
]);
const w = m([
  [5, 6, 7, 8],
  [1, -1, 2, -2],
]);

test("each way to make a tensor is computed as it says", () => {
  const cases: [ForwardTensor, number, Parameters<typeof reckon>[2], typeof here][] = [
    [tensor("product", "[B,S,D]", [1, 2, 4]), 1 * 6 + 2 * -1 + 0.5, [x, w, m([[0, 0.5, 0, 0]])], here],
    [tensor("product", "[B,H,S,d_k]", [1, 2, 2, 2]), 3 * 8 + 4 * -2, [x, w], { head: 1, row: 1, col: 1 }],
    [tensor("sum", "[B,S,D]", [1, 2, 2]), 2 + 6, [x, w], here],
    [tensor("scores", "[B,H,S,S]", [1, 1, 2, 2]), 1 * 3 + 2 * 4, [x, x], here],
    [tensor("divide", "[B,H,S,S]", [1, 1, 2, 2], [], 4), 0.5, [x], here],
    [tensor("softmax", "[B,H,S,S]", [1, 1, 2, 2]), Math.E / (1 + Math.E), [x, m([[1, 1]])], here],
    [tensor("softmax", "[B,T,S]", [1, 2, 2]), 1 / (1 + Math.E), [x], { head: 0, row: 0, col: 0 }],
    [tensor("weigh", "[B,T,D]", [1, 2, 4]), 1 * 6 + 2 * -1, [x, w], here],
    [tensor("mean", "[B,S,1]", [1, 2, 1]), 1.5, [x], { head: 0, row: 0, col: 0 }],
    [tensor("variance", "[B,S,1]", [1, 2, 1]), 0.25, [x], { head: 0, row: 0, col: 0 }],
    [
      tensor("norm", "[B,S,D]", [1, 2, 2], [], 0),
      ((2 - 1.5) / 0.5) * 3 + 1,
      [x, m([[1.5], [3.5]]), m([[0.25], [0.25]]), m([[1, 3]]), m([[0, 1]])],
      here,
    ],
    [tensor("relu", "[B,S,F]", [1, 2, 4]), 0, [m([[1, -7]])], here],
    [tensor("square", "[B,S,1]", [1, 2, 1]), 2.5, [x], { head: 0, row: 0, col: 0 }],
    [tensor("rms", "[B,S,D]", [1, 2, 2], [], 0.5), (2 / Math.sqrt(3)) * 4, [x, m([[2.5], [0]]), m([[1, 4]])], here],
    [tensor("gelu", "[B,S,F]", [1, 2, 2]), 2 * 0.9772498680518208, [x], here],
    [tensor("gelu", "[B,S,F]", [1, 2, 2]), -0.7 * 0.24196365222307303, [m([[0, -0.7]])], here],
    [tensor("gelu_tanh", "[B,S,F]", [1, 2, 2]), 1.954597694087775, [x], here],
    [tensor("silu", "[B,S,F]", [1, 2, 2]), 2 / (1 + Math.exp(-2)), [x], here],
    [tensor("times", "[B,S,F]", [1, 2, 2]), 6, [x, m([[9, 3]])], here],
    [tensor("tanh", "[B,T,D]", [1, 2, 2]), Math.tanh(2), [x], here],
    [tensor("lookup", "[B,S,D]", [1, 2, 2], [], 8), 16, [m([[1, 2]])], { head: 0, row: 5, col: 1 }],
    [tensor("beside", "[B,T,2D]", [1, 2, 4]), 4, [x, x], { head: 0, row: 1, col: 3 }],
    [
      tensor("join", "[B,S,D]", [1, 2, 4]),
      7,
      [
        m([
          [1, 2],
          [3, 4],
          [5, 6],
          [7, 8],
        ]),
      ],
      { head: 0, row: 1, col: 2 },
    ],
    [tensor("loss", "[B,T]", [1, 2]), -Math.log(0.25), [m([[0.75, 0.25]]), m([[0, 1]])], here],
    [tensor("average", "[]", []), 2.5, [m([[1, 2, 3, 4]])], { head: 0, row: 0, col: 0 }],
    [tensor("additive", "[B,T,S]", [1, 2, 2]), 10 * Math.tanh(1 + 3) + 20 * Math.tanh(2 + 4), [x, x, m([[10, 20]])], here],
    [
      tensor("rotate", "[B,H,S,d_k]", [1, 1, 2, 2]),
      1 * 0 + 2 * 1,
      [
        x,
        m([
          [0, 1],
          [0, 1],
        ]),
      ],
      here,
    ],
    [tensor("pixels", "[B,S,P]", [1, 2, 2], [], 127.5), 2 / 127.5 - 1, [x], here],
    [tensor("cell", "[B,S,D]", [1, 2, 2]), 2 * Math.tanh(2), [x, x], here],
    [tensor("cell", "[B,S,D]", [1, 2, 2]), (1 - 2) * 2 + 2 * 2, [x, x, x], here],
    [tensor("cell", "[B,S,D]", [1, 2, 2]), 2 * 2 + 2 * 2, [x, x, x, x], here],
  ];
  for (const [one, value, from, at] of cases) close(result(reckon(one, value, from, at)), value);
});

test("a gate is σ or tanh of what input and state add", () => {
  const h = m([[1, -1]]);
  const sums = 1 * 6 + 2 * -1 + (1 * 6 + -1 * -1);
  const zero = m([[0, 0, 0, 0]]);
  const sigmoid = 1 / (1 + Math.exp(-sums));
  close(result(reckon(tensor("gate", "[B,S,D]", [1, 1, 2], [], 0), sigmoid, [x, h, w, zero, w, zero], here)), sigmoid);
  const second = Math.tanh(1 * 8 + 2 * -2 + 0.5 * (1 * 8 + -1 * -2));
  const r = m([[0.5, 0.5]]);
  close(result(reckon(tensor("gate", "[B,S,D]", [1, 1, 2], [], 1), second, [x, h, w, zero, w, zero, r], here)), second);
});

test("what several steps make at once is not taken apart", () => {
  assert.deepEqual(reckon(tensor("opaque", "[B,S,D]", [1, 2, 2]), 1, [x], here), []);
});

const side = (ids: number[]) => ({
  text: "",
  lang: "en",
  dir: "ltr" as const,
  words: [],
  tokens: ids.map((id, i) => ({ i, id, text: `t${id}`, piece: `t${id}`, type: "normal" as const, span: null, word: i })),
});
const pass = {
  source: side([7, 8]),
  target: side([4, 2]),
  target_in: side([1, 4]),
  tensors: [
    tensor("given", "[B,S]", [1, 2]),
    tensor("given", "[V,D]", [9, 4]),
    tensor("lookup", "[B,S,D]", [1, 2, 4], [0, 1], 2),
    { ...tensor("product", "[B,H,S,d_k]", [1, 2, 2, 2], [2, 1]), stage: "encoder layer 2" },
    { ...tensor("scores", "[B,H,S,S]", [1, 2, 2, 2], [3, 3]), stage: "encoder layer 2" },
    { ...tensor("loss", "[B,T]", [1, 2], [1, 0]), stage: "output" },
  ],
} as unknown as Pass;

test("only the head or the row that a cell needs is asked for", () => {
  const at = { head: 1, row: 1, col: 0 };
  assert.deepEqual(inputNeeds(pass, pass.tensors[2], at), ["forward.tensor:1.8"]);
  assert.deepEqual(inputNeeds(pass, pass.tensors[3], at), ["forward.tensor:2", "forward.tensor:1"]);
  assert.deepEqual(inputNeeds(pass, pass.tensors[4], at), ["forward.tensor:3.1", "forward.tensor:3.1"]);
  assert.deepEqual(inputNeeds(pass, pass.tensors[5], { ...at, row: 0, col: 1 }), ["forward.tensor:1.1", "forward.tensor:0"]);
  assert.equal(inputNeeds(pass, pass.tensors[0], at), null);
});

test("rows and columns have the names of their axes", () => {
  assert.deepEqual(lettersOf(pass.tensors[4]), ["S", "S"]);
  assert.deepEqual(lettersOf(pass.tensors[5]), ["", "T"]);
  const names = (letter: string, size: number, keys = false) =>
    labelsFor(pass, letter, size, keys).map((one) => (typeof one === "string" ? one : one.text));
  assert.deepEqual(names("S", 2), ["t7", "t8"]);
  assert.deepEqual(names("T", 2), ["t4", "t2"]);
  assert.deepEqual(names("T", 2, true), ["t1", "t4"]);
  assert.deepEqual(names("D", 3), ["1", "2", "3"]);
  assert.deepEqual(names("V", 3), ["0", "1 ‘t1’", "2 ‘t2’"]);
  assert.deepEqual(names("V_src", 2), ["0", "1"]);
});

test("stages, places, sizes, grids", () => {
  assert.deepEqual(
    groupsOf(pass).map(({ stage, places }) => [stage, places.length]),
    [
      ["encoder layer 1", 3],
      ["encoder layer 2", 2],
      ["output", 1],
    ],
  );
  assert.equal(placeOf(pass, "encoder layer 2", "scores"), 4);
  assert.equal(placeOf(pass, "output", "none"), -1);
  assert.equal(bytesOf(pass.tensors[1]), 4 * 36);
  const grid = gridOf({ shape: [1, 2, 2, 3], data: new Float32Array(12), dtype: "F32" });
  assert.deepEqual([grid.rows, grid.cols], [4, 3]);
  assert.deepEqual([gridOf({ shape: [], data: new Float32Array(1), dtype: "F32" }).rows], [1]);
});
