/** One head of the model with all its stages, and what the address says about it. */
import { kindOf } from "../../lib/kinds";
import type { Kind, KindSize, Manifest, TraceSide } from "../../api-types";
import { products, ranked, TRIALS, type Trial } from "../../lib/arithmetic";
import type { Label } from "../../lib/heatmap";
import type { Params } from "../../lib/link";
import { extent, largest, matrix, row, type Matrix } from "../../lib/matrix";
import { range } from "../../lib/range";
import type { Tensor } from "../../lib/safetensors";
import { unitsOf } from "../../lib/tokens";

/** The stages in the order of computation by their numbers in addresses; 7 is the bias of relative positions, which few models have. */
export const STAGES = [1, 2, 3, 4, 5, 6] as const;
export const BIASED = [1, 2, 7, 3, 4, 5, 6] as const;
export type Stage = (typeof BIASED)[number];
/** Matrices with more columns show the dimensions that matter most to the chosen cell. */
const WIDE = 16;
const SHOWN = 8;

export interface Choice {
  readonly kind: Kind;
  readonly size: KindSize;
  /** both from 0 */
  readonly layer: number;
  readonly head: number;
  readonly stage: Stage;
  readonly all: boolean;
  readonly trial: Trial;
  readonly temperature: number;
}

const within = (text: string | undefined, count: number, otherwise: number) => {
  const n = Number(text ?? NaN) - 1;
  return Number.isInteger(n) && n >= 0 && n < count ? n : otherwise;
};

/** Whether attention of this kind adds a bias for the distance between tokens. */
const biased = (manifest: Manifest, kind: Kind) => manifest.attention[kind]?.stages.includes("bias") ?? false;
export const stagesOf = ({ bias }: Pick<Head, "bias">): readonly Stage[] => (bias ? BIASED : STAGES);

/** The head and stage of an address (k, l, h, stage, all, try, tau), corrected to what the model has; null without attention. */
export function choiceOf(params: Params, manifest: Manifest): Choice | null {
  const kinds = manifest.model.kinds;
  const kind = kindOf(params.k, kinds);
  const size = kind && kinds[kind];
  if (!kind || !size) return null;
  const temperature = Number(params.tau ?? NaN);
  return {
    kind,
    size,
    layer: within(params.l, size.layers, size.layers - 1),
    head: within(params.h, size.heads, 0),
    stage: (biased(manifest, kind) ? BIASED : STAGES).find((stage) => String(stage) === params.stage) ?? 1,
    all: params.all === "1",
    trial: TRIALS.find((trial) => trial === params.try) ?? "unscaled",
    temperature: temperature >= 0.1 && temperature <= 10 ? temperature : 2,
  };
}

const PARTS = ["q", "k", "v", "scores", "scaled", "mask", "weights", "context"] as const;
const biasNeed = ({ kind, layer, head }: Choice) => `${kind}.bias:${layer}.${head}`;
export const needsOf = (choice: Choice, manifest: Manifest): string[] => [
  ...PARTS.map((part) => `${choice.kind}.${part}:${choice.layer}.${choice.head}`),
  `${choice.kind}.out:${choice.layer}`,
  ...(manifest.rnn ? ["rnn.decoder"] : []),
  ...(biased(manifest, choice.kind) ? [biasNeed(choice)] : []),
];
/** Contexts of all heads of the layer, which the last stage joins. */
export const joinNeeds = ({ kind, layer, size }: Choice): string[] => range(size.heads).map((head) => `${kind}.context:${layer}.${head}`);
export const contextsOf = (choice: Choice, tensors: ReadonlyMap<string, Tensor>): Matrix[] =>
  joinNeeds(choice)
    .flatMap((need) => tensors.get(need) ?? [])
    .map(asMatrix);

/** Luong's attention works on states and has no projections of its own: other letters, no scaling. */
export interface Head {
  readonly luong: boolean;
  /** where to point: one head over the encoder's states, and a gate in place of joining */
  readonly copy: boolean;
  /** no division by √d: Luong’s attention, and a Transformer that was trained without it */
  readonly unscaled: boolean;
  readonly score: string | null;
  readonly causal: boolean;
  readonly d: number;
  readonly q: Matrix;
  readonly k: Matrix;
  readonly v: Matrix;
  readonly scores: Matrix;
  readonly scaled: Matrix;
  /** what relative positions add; null in a model without them */
  readonly bias: Matrix | null;
  /** what the mask and the softmax are given: scaled, and the bias */
  readonly placed: Matrix;
  readonly mask: Uint8Array;
  readonly weights: Matrix;
  readonly context: Matrix;
  readonly out: Matrix;
  /** decoder states of a recurrent model; its queries are these, or these after a projection */
  readonly states: Matrix | null;
  readonly rows: readonly Label[];
  readonly cols: readonly Label[];
  readonly rtl: boolean;
}

export const asMatrix = ({ shape, data }: Tensor): Matrix => {
  const cols = shape[shape.length - 1] ?? 0;
  return matrix(cols ? data.length / cols : 0, cols, data instanceof Float32Array ? data : Float32Array.from(data));
};

const plus = (a: Matrix, b: Matrix): Matrix =>
  matrix(
    a.rows,
    a.cols,
    a.data.map((x, n) => x + b.data[n]),
  );

/** Labels of a side, one per token. */
export function labelsOf(side: TraceSide): Label[] {
  const open = new Set(side.tokens.flatMap((token) => (token.group === undefined ? [] : [token.group])));
  return unitsOf(side.tokens, open).map((unit) => ({ text: unit.text, lang: unit.special ? undefined : side.lang }));
}

/** The stages out of the tensors of `needsOf`; null until all of them are those of this choice. */
export function headOf(manifest: Manifest, choice: Choice, tensors: ReadonlyMap<string, Tensor> | null): Head | null {
  const info = manifest.attention[choice.kind];
  if (!info || !tensors) return null;
  const found = needsOf(choice, manifest).map((need) => tensors.get(need));
  if (found.some((tensor) => tensor === undefined)) return null;
  const [q, k, v, scores, scaled, mask, weights, context, out, more] = found.map((tensor) => asMatrix(tensor!));
  const [states, bias] = biased(manifest, choice.kind) ? [null, asMatrix(tensors.get(biasNeed(choice))!)] : [more, null];
  const sides = manifest as unknown as Readonly<Record<string, TraceSide | undefined>>;
  const [asks, answers] = [sides[info.q]!, sides[info.k] ?? manifest.target];
  const [rows, cols] = [labelsOf(asks), labelsOf(answers)];
  if (rows.length !== scores.rows || cols.length !== scores.cols) return null;
  return {
    luong: manifest.model.arch === "luong",
    copy: choice.kind === "copy",
    unscaled: choice.kind !== "copy" && manifest.model.score !== "scaled_dot",
    score: manifest.model.score,
    causal: info.causal,
    d: q.cols,
    q,
    k,
    v,
    scores,
    scaled,
    bias,
    placed: bias ? plus(scaled, bias) : scaled,
    mask: Uint8Array.from(mask.data),
    weights,
    context,
    out,
    states: states ?? null,
    rows,
    cols,
    rtl: answers.dir === "rtl",
  };
}

/** The cell that stays chosen through all stages. */
export interface Chosen {
  readonly q: number;
  readonly k: number;
}

/** The cell of the address, else the strongest link of a row in the middle. */
export function chosenOf(params: Params, head: Head): Chosen {
  const at = (text: string | undefined, count: number) => {
    const n = Number(text ?? NaN);
    return Number.isInteger(n) && n >= 0 && n < count ? n : null;
  };
  const q = at(params.q, head.rows.length) ?? Math.floor((head.rows.length - 1) / 2);
  return { q, k: at(params.j, head.cols.length) ?? largest(row(head.weights, q), 1)[0] ?? 0 };
}

/** q_i · k_i for every dimension of the chosen cell. */
export const scoreParts = (head: Head, { q, k }: Chosen) => products(row(head.q, q), row(head.k, k));
/** w · v_i for every dimension: what the chosen key gives to the context. */
export const valueParts = (head: Head, { q, k }: Chosen) => {
  const w = head.weights.data[q * head.weights.cols + k];
  return Float64Array.from(row(head.v, k), (x) => w * x);
};
/** w_j · v_j in one dimension, for every key: the parts of one number of the context. */
export const keyParts = (head: Head, q: number, dimension: number) =>
  Float64Array.from(row(head.weights, q), (w, k) => w * head.v.data[k * head.d + dimension]);

/** Dimensions on show: all of a narrow matrix or when asked, else the largest of the chosen cell, largest first. */
export function dimensionsOf(parts: ArrayLike<number>, all: boolean): number[] {
  return all || parts.length <= WIDE ? range(parts.length) : ranked(parts, SHOWN);
}
export const isWide = (d: number) => d > WIDE;

/** The dimension of the address if it is on show, else the one that matters most. */
export function dimensionOf(params: Params, parts: ArrayLike<number>, on: readonly number[]): number {
  const n = Number(params.dim ?? NaN) - 1;
  return on.includes(n) ? n : (ranked(parts, 1)[0] ?? 0);
}

/** Largest magnitude of some matrices, for a colour scale they share. */
export const reach = (...all: Matrix[]): number => Math.max(1e-6, ...all.flatMap((m) => extent(m.data)).map(Math.abs));
