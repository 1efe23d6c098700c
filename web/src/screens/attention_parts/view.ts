/** What the Attention screen shows, worked out from the address, the manifest and the tensors. */
import { kindOf } from "../../lib/kinds";
import type { Op } from "../../lib/interventions";
import type { HeadProfile, Kind, KindSize, Manifest } from "../../api-types";
import { t } from "../../i18n";
import type { Label } from "../../lib/heatmap";
import { combine, fromAtlas, matrix, mergeWords, rollout, type Matrix } from "../../lib/matrix";
import { range } from "../../lib/range";
import type { Tensor } from "../../lib/safetensors";
import { unitsOf, wordUnits, type Unit } from "../../lib/tokens";
import type { Params } from "../../lib/link";

export type Virtual = "mean" | "max" | "rollout";
export const VIRTUAL: readonly Virtual[] = ["mean", "max", "rollout"];
/** One entry of the grid: a head, or a virtual head of a layer; both from 0. */
export interface Pick {
  readonly layer: number;
  readonly head: number | Virtual;
}
export const keyOf = (pick: Pick) => `${pick.layer + 1}.${typeof pick.head === "number" ? pick.head + 1 : pick.head}`;

export interface Choice {
  readonly kind: Kind;
  readonly size: KindSize;
  readonly picks: readonly Pick[];
  readonly how: "mean" | "max";
  readonly words: boolean;
  readonly specials: "show" | "dim" | "fold";
  readonly sqrt: boolean;
  readonly renormalise: boolean;
  readonly view: "matrix" | "flow" | "table";
  readonly logical: boolean;
}

/** Rollout multiplies a kind with itself through the layers, so it needs queries and keys of one side. */
export const hasRollout = (kind: Kind, size: KindSize) => (kind === "enc_self" || kind === "dec_self") && size.layers > 1;

function parsePick(text: string, kind: Kind, size: KindSize): Pick | null {
  const [layer, head] = text.split(".");
  const l = Number(layer) - 1;
  if (!(Number.isInteger(l) && l >= 0 && l < size.layers)) return null;
  if (head === "mean" || head === "max" || (head === "rollout" && hasRollout(kind, size))) return { layer: l, head };
  const h = Number(head) - 1;
  return Number.isInteger(h) && h >= 0 && h < size.heads ? { layer: l, head: h } : null;
}

/** The choices of an address (k, l, h, sel, how, u, sp, sq, v), corrected to what the model has. */
export function choiceOf(params: Params, manifest: Manifest): Choice | null {
  const kinds = manifest.model.kinds;
  const kind = kindOf(params.k, kinds);
  const size = kind && kinds[kind];
  if (!kind || !size) return null;
  const one = parsePick(`${params.l ?? size.layers}.${params.h ?? (size.heads > 1 ? "mean" : "1")}`, kind, size) ?? {
    layer: size.layers - 1,
    head: size.heads > 1 ? ("mean" as const) : 0,
  };
  const several = (params.sel ?? "")
    .split(",")
    .map((text) => parsePick(text, kind, size))
    .filter((pick) => pick !== null);
  return {
    kind,
    size,
    picks: several.length > 1 ? several : [one],
    how: params.how === "max" ? "max" : "mean",
    words: params.u === "words",
    specials: params.sp === "show" || params.sp === "fold" ? params.sp : "dim",
    sqrt: params.sq !== "0",
    renormalise: params.rn === "1",
    view: params.v === "flow" || params.v === "table" ? params.v : "matrix",
    logical: params.lo === "1",
  };
}

/** Heads whose exact weights a pick needs. */
function headsOf(pick: Pick, size: KindSize): [number, number][] {
  const all = (layer: number) => range(size.heads).map((head): [number, number] => [layer, head]);
  if (pick.head === "rollout") return range(pick.layer + 1).flatMap((layer) => all(layer));
  return typeof pick.head === "number" ? [[pick.layer, pick.head]] : all(pick.layer);
}

export function needsOf({ kind, size, picks }: Choice): string[] {
  return [...new Set(picks.flatMap((pick) => headsOf(pick, size)).map(([layer, head]) => `${kind}.weights:${layer}.${head}`))];
}

type Weights = (layer: number, head: number) => Matrix;

/** Weights of heads out of the atlas: 8 bits, for thumbnails. */
export function atlasWeights(atlas: Tensor): Weights {
  const known: Matrix[] = [];
  return (layer, head) => (known[layer * atlas.shape[1] + head] ??= fromAtlas(atlas, layer, head));
}
/** Exact weights out of the tensors of `needsOf`. */
export const exactWeights =
  (kind: Kind, tensors: ReadonlyMap<string, Tensor>): Weights =>
  (layer, head) => {
    const { shape, data } = tensors.get(`${kind}.weights:${layer}.${head}`)!;
    return matrix(shape[0], shape[1], data as Float32Array);
  };

/** The matrix of each entry of the grid; what several share is worked out once. */
export function matricesOf(size: KindSize, weights: Weights): (pick: Pick) => Matrix {
  const [means, rolled]: Matrix[][] = [[], []];
  const joined = (layer: number, how: "mean" | "max") =>
    combine(
      range(size.heads).map((head) => weights(layer, head)),
      how,
    );
  const mean = (layer: number) => (means[layer] ??= joined(layer, "mean"));
  const roll = (layer: number): Matrix => (rolled[layer] ??= rollout(mean(layer), layer > 0 ? roll(layer - 1) : null));
  return ({ layer, head }) =>
    typeof head === "number" ? weights(layer, head) : head === "max" ? joined(layer, head) : head === "mean" ? mean(layer) : roll(layer);
}

export interface Picture {
  readonly matrix: Matrix;
  readonly rows: readonly Label[];
  readonly cols: readonly Label[];
  /** tokens behind each row and column */
  readonly rowUnits: readonly Unit[];
  readonly colUnits: readonly Unit[];
  /** share of folded special keys, per row */
  readonly folded: Float32Array | null;
  /** share of each row that was copied, where the kind says where to copy from; a word is the mean of its tokens */
  readonly copied: Float32Array | null;
  /** allowed cells, for causal attention */
  readonly mask: Uint8Array | null;
  readonly rtl: boolean;
}

/** The chosen heads joined, in words or tokens, with special tokens shown, dimmed or folded. */
export function pictureOf(choice: Choice, manifest: Manifest, weights: Weights): Picture {
  const info = manifest.attention[choice.kind]!;
  const [q, k] = [manifest[info.q], manifest[info.k]];
  const units = (side: typeof q) => (choice.words ? wordUnits(side) : unitsOf(side.tokens));
  const keep = (unit: Unit) => choice.specials !== "fold" || !unit.special;
  const [allRows, allCols] = [units(q), units(k)];
  const rowUnits = allRows.filter(keep);
  const colUnits = allCols.filter(keep);
  const all = combine(choice.picks.map(matricesOf(choice.size, weights)), choice.how);
  const m = mergeWords(
    all,
    rowUnits.map((unit) => unit.tokens),
    colUnits.map((unit) => unit.tokens),
  );
  const folds = choice.specials === "fold" ? allCols.filter((unit) => unit.special).flatMap((unit) => unit.tokens) : [];
  const folded =
    folds.length > 0
      ? mergeWords(
          all,
          rowUnits.map((unit) => unit.tokens),
          [folds],
        ).data
      : null;
  if (folded && choice.renormalise)
    for (let r = 0; r < m.rows; r++) for (let c = 0; c < m.cols; c++) m.data[r * m.cols + c] /= Math.max(1e-9, 1 - folded[r]);
  const copied =
    choice.kind === "copy"
      ? Float32Array.from(
          rowUnits,
          ({ tokens }) => tokens.reduce((sum, i) => sum + (manifest.steps[i]?.copied ?? 0), 0) / Math.max(1, tokens.length),
        )
      : null;
  const label =
    (lang: string) =>
    (unit: Unit): Label => ({ text: unit.text, lang, dim: unit.special && choice.specials === "dim" });
  const mask = info.causal
    ? Uint8Array.from({ length: m.rows * m.cols }, (_, i) =>
        colUnits[i % m.cols].tokens[0] <= rowUnits[Math.floor(i / m.cols)].tokens[rowUnits[Math.floor(i / m.cols)].tokens.length - 1]
          ? 1
          : 0,
      )
    : null;
  return {
    matrix: m,
    rows: rowUnits.map(label(q.lang)),
    cols: colUnits.map(label(k.lang)),
    rowUnits,
    colUnits,
    folded,
    copied,
    mask,
    rtl: k.dir === "rtl" && !choice.logical,
  };
}

export function nameOf(pick: Pick, size: KindSize): string {
  const layer = pick.layer + 1;
  if (typeof pick.head === "number") return t("attention.head_name", { layer, head: pick.head + 1 });
  return t(`attention.head_virtual_${pick.head}`, { layer, n: size.heads });
}

export function titleOf({ picks, how, size }: Choice): string {
  if (picks.length > 1)
    return how === "max" ? t("attention.several_max", { n: picks.length }) : t("attention.several_mean", { n: picks.length });
  return nameOf(picks[0], size);
}

/** Heads of a layer in the order of a fingerprint, largest first; by number without one. */
export function headOrder(fingerprint: HeadProfile | undefined, sort: string, layer: number, heads: number): number[] {
  const order = range(heads);
  const values = fingerprint?.[sort as keyof HeadProfile]?.[layer] as readonly number[] | undefined;
  return values && sort !== "label" ? order.sort((a, b) => values[b] - values[a] || a - b) : order;
}

/** What can be tried on a selection of heads, as interventions. */
export function headOps(choice: Choice, op: string, extra: object = {}): Op[] {
  return choice.picks.map((pick) => ({
    op,
    kind: choice.kind,
    layer: pick.layer,
    head: typeof pick.head === "number" ? pick.head : "*",
    ...extra,
  }));
}
