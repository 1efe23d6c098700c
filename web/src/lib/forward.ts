/** One forward pass: its tensors as grids, what names their rows and columns, and the arithmetic of one cell. */
import type { ForwardDocument, ForwardTensor, TraceSide } from "../api-types";
import { products } from "./arithmetic";
import type { Label } from "./heatmap";
import { matrix, type Matrix } from "./matrix";
import { range } from "./range";
import type { Tensor } from "./safetensors";
import { unitsOf } from "./tokens";

export type Pass = ForwardDocument;
export type How = ForwardTensor["how"];

/** Letters of the axes without the batch, e.g. `["H", "S", "d_k"]`. */
export const axesOf = ({ axes }: ForwardTensor): string[] =>
  axes
    .slice(1, -1)
    .split(",")
    .filter((letter) => letter !== "" && letter !== "B");

/** Its sizes without the batch. */
export const sizesOf = (one: ForwardTensor): readonly number[] => (one.axes.startsWith("[B") ? one.shape.slice(1) : one.shape);

/** How many heads it has; 0 for one without. */
export const headsOf = (one: ForwardTensor): number => (axesOf(one)[0] === "H" ? sizesOf(one)[0] : 0);

/** Bytes of its numbers as they travel. */
export const bytesOf = (one: ForwardTensor): number =>
  one.shape.reduce((n, size) => n * size, one.dtype === "int64" ? 8 : one.dtype === "uint8" ? 1 : 4);

/** The need of a tensor, or of one part of it: a head, a token, a row. */
export const needOf = (place: number, part: number | null = null): string =>
  part === null ? `forward.tensor:${place}` : `forward.tensor:${place}.${part}`;

/** A tensor as a matrix: vectors are one row, and parts before the last two axes stand under each other. */
export function gridOf({ shape, data }: Tensor): Matrix {
  const cols = shape[shape.length - 1] ?? 1;
  return matrix(cols ? data.length / cols : 0, cols, data instanceof Float32Array ? data : Float32Array.from(data));
}

const side = (pass: Pass, letter: string, keys: boolean): TraceSide | null =>
  letter === "S" ? pass.source : letter === "T" ? (keys ? pass.target_in : pass.target) : null;

/** Names of an axis: tokens, else numbers from 1; of a vocabulary the ids, with those of this answer by name. */
export function labelsFor(pass: Pass, letter: string, size: number, keys = false): readonly (Label | string)[] {
  const tokens = side(pass, letter, keys);
  if (tokens && tokens.tokens.length === size) {
    const open = new Set(tokens.tokens.flatMap((token) => (token.group === undefined ? [] : [token.group])));
    return unitsOf(tokens.tokens, open).map((unit) => ({ text: unit.text, lang: unit.special ? undefined : tokens.lang }));
  }
  if (letter !== "V") return range(size, letter === "V_src" ? 0 : 1).map(String);
  const known = new Map([...pass.target_in.tokens, ...pass.target.tokens].map((token) => [token.id, token.text]));
  return range(size).map((id) => (known.has(id) ? `${id} ‘${known.get(id)}’` : String(id)));
}

/** Letters of the rows and columns of `gridOf` of one tensor, or of one head of it. */
export function lettersOf(one: ForwardTensor): readonly [string, string] {
  const letters = axesOf(one).slice(headsOf(one) > 0 ? 1 : 0);
  return letters.length < 2 ? ["", letters[0] ?? ""] : [letters[letters.length - 2], letters[letters.length - 1]];
}

/** Where it stands among the rows of a token: whether row r of its grid belongs to token r. */
export const isByToken = (one: ForwardTensor): boolean => ["S", "T"].includes(lettersOf(one)[0]);

/** A line of arithmetic: numbers that add up, numbers and signs that make one, or a share of a softmax. */
export type Line =
  | {
      readonly kind: "sum";
      readonly values: ArrayLike<number>;
      /** the factors of each value, where they are products */
      readonly factors: readonly [ArrayLike<number>, ArrayLike<number>] | null;
      /** what the values are: places of an inner axis, or names */
      readonly names: readonly string[] | null;
      readonly total: number;
    }
  | {
      readonly kind: "equation";
      readonly parts: readonly (number | string)[];
      /** what the numbers of the parts make, in their order */
      compute(...numbers: number[]): number;
      readonly total: number;
    }
  | {
      readonly kind: "softmax";
      readonly scores: ArrayLike<number>;
      readonly mask: ArrayLike<number>;
      readonly at: number;
      readonly weight: number;
    };

export interface Place {
  readonly head: number;
  readonly row: number;
  readonly col: number;
}

/** The ids whose rows of a table a tensor holds. */
const idsOf = (pass: Pass, one: ForwardTensor): readonly number[] =>
  (axesOf(one)[0] === "S" ? pass.source : pass.target_in).tokens.map((token) => token.id);

/** Needs of what a cell is made of, in the order of the inputs: only the head, the row or the table's row that it takes. Null: nothing to reckon. */
export function inputNeeds(pass: Pass, one: ForwardTensor, { head, row, col }: Place): string[] | null {
  if (one.inputs.length === 0 || one.how === "opaque") return null;
  return one.inputs.flatMap((place, n) => {
    const from = pass.tensors[place];
    if (one.how === "lookup") return n === 1 ? [needOf(place, idsOf(pass, one)[row] ?? 0)] : [];
    if (one.how === "loss") return n === 0 ? [needOf(place, col)] : [needOf(place)];
    return [needOf(place, headsOf(one) > 0 && headsOf(from) > 0 ? head : null)];
  });
}

const same = (x: number) => x;
const plus = (x: number, y: number) => x + y;
const times = (x: number, y: number) => x * y;
/** The share of a normal distribution below x: the error function by its series, or 0 and 1 far from the middle. */
function below(x: number): number {
  if (Math.abs(x) > 6) return x > 0 ? 1 : 0;
  let [term, sum] = [x, x];
  for (let n = 1; n < 120; n++) {
    term *= (-x * x) / (2 * n);
    sum += term / (2 * n + 1);
  }
  return 0.5 + sum / Math.sqrt(2 * Math.PI);
}
const geluByTanh = (x: number) => (x / 2) * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)));
const sigmoid = (x: number) => 1 / (1 + Math.exp(-x));
const columnOf = (m: Matrix, col: number) => Float64Array.from({ length: m.rows }, (_, k) => m.data[k * m.cols + col]);
const rowOf = (m: Matrix, row: number) => m.data.subarray(row * m.cols, (row + 1) * m.cols);

/** How one cell follows from the inputs of its tensor (those of `inputNeeds`); empty where nothing is taken apart. */
export function reckon(one: ForwardTensor, value: number, from: readonly Matrix[], { head, row, col }: Place): Line[] {
  const [a, b] = from;
  const at = (m: Matrix, r = row, c = col) => m.data[r * m.cols + c];
  const equation = (parts: (number | string)[], compute: (...numbers: number[]) => number): Line[] => [
    { kind: "equation", parts, compute, total: value },
  ];
  const n = one.number ?? 1;
  switch (one.how) {
    case "same":
      return equation([at(a)], same);
    case "lookup":
      return n === 1 ? equation([at(a, 0)], same) : equation([n, "×", at(a, 0)], times);
    case "product": {
      const wide = headsOf(one) > 0 ? head * sizesOf(one)[2] + col : col;
      const x = rowOf(a, row);
      return sumLine(x, columnOf(b, wide), from[2] ? from[2].data[wide] : null, value);
    }
    case "sum":
      return equation([at(a), "+", at(b)], plus);
    case "pixels":
      return equation([at(a), "÷", n, "−", 1], (x, by, one) => x / by - one);
    case "rotate": {
      const even = col - (col % 2);
      const [x, y, sin, cos] = [at(a, row, even), at(a, row, even + 1), at(b, row, even), at(b, row, even + 1)];
      return col % 2 === 0
        ? equation([x, "×", cos, "−", y, "×", sin], (p, q, r, s) => p * q - r * s)
        : equation([x, "×", sin, "+", y, "×", cos], (p, q, r, s) => p * q + r * s);
    }
    case "scores":
      return sumLine(rowOf(a, row), rowOf(b, col), null, value);
    case "additive": {
      const inner = Float64Array.from(rowOf(a, row), (x, k) => Math.tanh(x + at(b, col, k)));
      return sumLine(inner, from[2].data, null, value);
    }
    case "divide":
      return equation([at(a), "÷", n], (x, by) => x / by);
    case "softmax": {
      const scores = rowOf(a, row);
      const mask = b ? rowOf(b, row) : new Float32Array(scores.length).fill(1);
      return [{ kind: "softmax", scores, mask, at: col, weight: value }];
    }
    case "weigh":
      return sumLine(rowOf(a, row), columnOf(b, col), null, value);
    case "join": {
      const width = a.cols;
      const tokens = a.rows / (sizesOf(one)[1] / width);
      return equation([a.data[(Math.floor(col / width) * tokens + row) * width + (col % width)]], same);
    }
    case "beside":
      return equation([col < a.cols ? at(a) : at(b, row, col - a.cols)], same);
    case "mean":
      return [{ kind: "sum", values: Array.from(rowOf(a, row), (x) => x / a.cols), factors: null, names: null, total: value }];
    case "variance": {
      const x = rowOf(a, row);
      const mean = x.reduce((sum, y) => sum + y, 0) / x.length;
      return [{ kind: "sum", values: Array.from(x, (y) => (y - mean) ** 2 / x.length), factors: null, names: null, total: value }];
    }
    case "norm":
      return equation(
        ["(", at(a), "−", at(b, row, 0), ")", "÷", Math.sqrt(at(from[2], row, 0) + n), "×", from[3].data[col], "+", from[4].data[col]],
        (x, mean, by, scale, shift) => ((x - mean) / by) * scale + shift,
      );
    case "square":
      return [{ kind: "sum", values: Array.from(rowOf(a, row), (x) => (x * x) / a.cols), factors: null, names: null, total: value }];
    case "rms":
      return equation([at(a), "÷", Math.sqrt(at(b, row, 0) + n), "×", from[2].data[col]], (x, by, scale) => (x / by) * scale);
    case "gelu":
      return equation([at(a), "×", "Φ(", at(a), ")"], (x, again) => x * below(again));
    case "gelu_tanh":
      return equation([at(a), "× (1 + tanh(0.798 × (x + 0.0447 x³))) ÷ 2"], geluByTanh);
    case "silu":
      return equation([at(a), "×", "σ(", at(a), ")"], (x, again) => x * sigmoid(again));
    case "times":
      return equation([at(a), "×", at(b)], times);
    case "relu":
      return equation(["max(0,", at(a), ")"], (x) => Math.max(0, x));
    case "tanh":
      return equation(["tanh(", at(a), ")"], Math.tanh);
    case "gate":
      return gateLines(from, one.number ?? 0, row, col, value);
    case "cell":
      if (from.length === 4) return equation([at(b), "×", at(from[3]), "+", at(a), "×", at(from[2])], (p, q, r, s) => p * q + r * s);
      if (from.length === 3)
        return equation(["(1 −", at(a), ")", "×", at(b), "+", at(a), "×", at(from[2])], (z, x, again, h) => (1 - z) * x + again * h);
      return equation([at(a), "×", "tanh(", at(b), ")"], (o, c) => o * Math.tanh(c));
    case "loss":
      return equation(["−ln", a.data[b.data[col]]], (x) => -Math.log(x));
    case "average":
      return [{ kind: "sum", values: Array.from(a.data, (x) => x / a.data.length), factors: null, names: null, total: value }];
    default:
      return [];
  }
}

function sumLine(x: ArrayLike<number>, y: ArrayLike<number>, bias: number | null, total: number): Line[] {
  const made = products(x, y);
  if (bias === null) return [{ kind: "sum", values: made, factors: [x, y], names: null, total }];
  const before = total - bias;
  return [
    { kind: "sum", values: made, factors: [x, y], names: null, total: before },
    { kind: "equation", parts: [before, "+", bias], compute: plus, total },
  ];
}

/** σ or tanh of what the input, the state before and their biases add; in a GRU the gate r stands before the state's part. */
function gateLines(from: readonly Matrix[], gate: number, row: number, col: number, value: number): Line[] {
  const [x, h, wx, bx, wh, bh, r] = from;
  const width = h.cols;
  const at = gate * width + col;
  const ofX = products(rowOf(x, row), columnOf(wx, at)).reduce((a, b) => a + b, bx.data[at]);
  const ofH = products(rowOf(h, row), columnOf(wh, at)).reduce((a, b) => a + b, bh.data[at]);
  const total = ofX + (r ? r.data[row * r.cols + col] : 1) * ofH;
  const curved = Math.abs(Math.tanh(total) - value) < Math.abs(sigmoid(total) - value);
  return [
    r
      ? { kind: "equation", parts: [ofX, "+", r.data[row * r.cols + col], "×", ofH], compute: (x, r, h) => x + r * h, total }
      : { kind: "equation", parts: [ofX, "+", ofH], compute: plus, total },
    { kind: "equation", parts: [curved ? "tanh(" : "σ(", total, ")"], compute: curved ? Math.tanh : sigmoid, total: value },
  ];
}

export interface Group {
  readonly stage: string;
  /** places of its tensors */
  readonly places: readonly number[];
}

/** The tensors by stage, in the order of computation. */
export function groupsOf(pass: Pass): Group[] {
  const found: { stage: string; places: number[] }[] = [];
  pass.tensors.forEach(({ stage }, place) => {
    if (found.at(-1)?.stage === stage) found.at(-1)!.places.push(place);
    else found.push({ stage, places: [place] });
  });
  return found;
}

/** The place of the embedding of one side, scaled or not; -1 where a picture is read. */
export const embeddingOf = (pass: Pass, stage: "encoder" | "decoder"): number =>
  Math.max(placeOf(pass, stage, "embedding · √D"), placeOf(pass, stage, "embedding"));

/** The place of a tensor by stage and operation; -1 where the model has none. */
export const placeOf = (pass: Pass, stage: string, operation: string): number =>
  pass.tensors.findIndex((one) => one.stage === stage && one.operation === operation);
