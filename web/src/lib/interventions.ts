/** What can be tried on a model: which interventions apply to it, their fields and first values. */
import { KINDS } from "./kinds";
import type { Card, Kind, Manifest, TraceRequest } from "../api-types";

export type OpName = Manifest["interventions"][number]["op"];

/** An intervention while a reader writes it: which fields it has depends on `op`, and they may be unfinished. */
export interface Op {
  readonly op: string;
  readonly [field: string]: unknown;
}

/** A request for a trace with such interventions. */
export type TraceDraft = Omit<TraceRequest, "interventions"> & { readonly interventions?: readonly Op[] };

/** `key` of set_row: the one position that gets all the weight; `lines`: several texts, one a line. */
export type Field =
  | "kind"
  | "layer"
  | "head"
  | "factor"
  | "q"
  | "k"
  | "key"
  | "side"
  | "change"
  | "seed"
  | "by"
  | "start"
  | "unit"
  | "text"
  | "lines";

const HEADS: readonly OpName[] = ["mask_head", "scale_head", "uniform", "mask_edge", "set_row"];
const GROUPS: readonly (readonly OpName[])[] = [
  HEADS,
  ["no_scale", "positions", "bridge"],
  ["force_prefix", "ban", "require"],
  ["replace_source"],
];

function applies(name: OpName, card: Card): boolean {
  if (HEADS.includes(name)) return Object.keys(card.kinds).length > 0;
  if (name === "no_scale") return card.arch === "transformer" && card.score !== "dot";
  if (name === "positions") return card.arch === "transformer" && card.positions !== null && card.positions !== "none";
  if (name === "replace_source") return card.source !== "image";
  return name !== "bridge" || card.arch !== "transformer";
}

/** The interventions that this model understands, in groups. */
export const offered = (card: Card): OpName[][] =>
  GROUPS.map((group) => group.filter((name) => applies(name, card))).filter((group) => group.length > 0);

const FIELDS: Readonly<Record<string, string>> = {
  mask_head: "kind layer head",
  uniform: "kind layer head",
  scale_head: "kind layer head factor",
  mask_edge: "kind layer head q k",
  set_row: "kind layer head q key",
  no_scale: "kind",
  positions: "side change",
  positions_shuffle: "side change seed",
  positions_shift: "side change by",
  bridge: "start text",
  bridge_mean: "start lines",
  bridge_zero: "start",
  force_prefix: "text",
  ban: "lines",
  require: "lines",
  replace_source: "unit text",
};

/** The fields of an intervention that a reader may set, in their order. */
export const fieldsOf = (op: Op): readonly Field[] => (FIELDS[`${op.op}_${op.mode}`] ?? FIELDS[op.op] ?? "").split(" ") as Field[];

/** What a reader is looking at, by the address: a kind of attention, a head, the tokens at both ends of a link; all from 0. */
export interface Looked {
  readonly kind: Kind;
  readonly layer: number;
  readonly head: number | "*";
  readonly q: number;
  readonly k: number;
}

/** What the address has chosen (`k`, `l`, `h`, `r`, `q`, `j`), as far as the model has it; the last layer of the attention to the source where it says nothing. */
export function lookedAt(params: Readonly<Record<string, string>>, card: Card): Looked {
  const [rLayer, rHead] = /^\d+\.\d+$/.test(params.r ?? "") && !params.k ? params.r.split(".") : [];
  const kind =
    KINDS.find((one) => one === params.k && card.kinds[one]) ?? (card.kinds.cross ? "cross" : KINDS.find((one) => card.kinds[one]));
  const size = kind && card.kinds[kind];
  const within = (text: string | undefined, count: number): number | null =>
    text !== undefined && Number.isInteger(Number(text)) && Number(text) >= 1 && Number(text) <= count ? Number(text) - 1 : null;
  const chosen = params.h ?? rHead;
  const token = (text: string | undefined) => Math.max(0, Math.trunc(Number(text ?? 0)) || 0);
  return {
    kind: kind ?? "cross",
    layer: within(params.l ?? rLayer, size?.layers ?? 0) ?? (size?.layers ?? 1) - 1,
    head: chosen === "mean" || chosen === "max" ? "*" : (within(chosen, size?.heads ?? 0) ?? 0),
    q: token(params.q),
    k: token(params.j),
  };
}

/** An intervention with the values a form begins with: what is looked at. */
export function begin(name: OpName, card: Card, at: Looked = lookedAt({}, card)): Op {
  const { kind, q, k } = at;
  const where = { op: name, kind, layer: at.layer, head: at.head };
  switch (name) {
    case "scale_head":
      return { ...where, factor: 0.5 };
    case "mask_edge":
      return { ...where, layer: "*", head: "*", q, k };
    case "set_row":
      return { ...where, q, weights: { [String(k)]: 1 } };
    case "no_scale":
      return { op: name, kind };
    case "positions":
      return { op: name, mode: "none", side: "source" };
    case "bridge":
      return { op: name, mode: "zero" };
    case "force_prefix":
      return { op: name, text: "" };
    case "ban":
    case "require":
      return { op: name, text: [] };
    case "replace_source":
      return { op: name, unit: 0, text: "" };
    default:
      return where;
  }
}

/** The intervention after a change of one field; what no longer fits the model or the mode is corrected. */
export function change(op: Op, field: Field, value: unknown, card: Card): Op {
  switch (field) {
    case "kind": {
      const size = card.kinds[value as Kind];
      const fit = (at: unknown, count: number) => (typeof at === "number" ? Math.min(at, count - 1) : at);
      const next: Record<string, unknown> & Op = { ...op, kind: value };
      if (size && "layer" in op) next.layer = fit(op.layer, size.layers);
      if (size && "head" in op) next.head = fit(op.head, size.heads);
      if ("q" in op) next.q = 0;
      if ("k" in op) next.k = 0;
      if ("weights" in op) next.weights = { "0": 1 };
      return next;
    }
    case "key":
      return { ...op, weights: { [String(value)]: 1 } };
    case "change":
      return { op: op.op, side: op.side, mode: value, ...(value === "shift" ? { by: 1 } : value === "shuffle" ? { seed: 1 } : {}) };
    case "start":
      return { op: op.op, mode: value, ...(value === "zero" ? {} : { text: typeof op.text === "string" ? op.text : "" }) };
    case "lines":
      return { ...op, text: op.op === "bridge" ? value : linesOf(String(value)) };
    default:
      return { ...op, [field]: value };
  }
}

export const linesOf = (text: string): string[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");

/** Whether an intervention has all it needs, so that it can be asked for. */
export function complete(op: Op): boolean {
  if (op.op === "ban" || op.op === "require") return Array.isArray(op.text) && op.text.length > 0;
  if (op.op === "force_prefix") return Array.isArray(op.ids) || String(op.text ?? "").trim() !== "";
  if (op.op === "bridge") return op.mode === "zero" || String(op.text ?? "").trim() !== "";
  return true;
}

/** One number, several, or all of them; from what an intervention holds. */
export const numbersOf = (value: unknown): readonly number[] | "*" =>
  value === "*" ? "*" : Array.isArray(value) ? value.map(Number) : [Number(value)];

const includes = (value: unknown, at: number): boolean => {
  const found = numbersOf(value);
  return found === "*" || found.includes(at);
};

/** What interventions do to a head: "silenced", "changed" in another way, or null. */
export function editOf(ops: readonly { readonly op: string }[], kind: Kind, layer: number, head: number): "silenced" | "changed" | null {
  const own = (ops as readonly Op[]).filter(
    (op) => op.kind === kind && "head" in op && includes(op.layer, layer) && includes(op.head, head),
  );
  return own.some((op) => op.op === "mask_head") ? "silenced" : own.length > 0 ? "changed" : null;
}

/** The interventions with this head silenced, or brought back. */
export function silenced(ops: readonly Op[], kind: Kind, layer: number, head: number): readonly Op[] {
  const at = maskAt(ops, kind, layer, head);
  return at >= 0 ? ops.filter((_, i) => i !== at) : [...ops, { op: "mask_head", kind, layer, head }];
}

/** The place of an intervention that silences exactly this head; -1 without one. */
export const maskAt = (ops: readonly Op[], kind: Kind, layer: number, head: number): number =>
  ops.findIndex((op) => op.op === "mask_head" && op.kind === kind && op.layer === layer && op.head === head);

/** A row of weights with that of one key set; the others share the rest as they did, or alike where they had nothing. Keys that `allowed` forbids stay 0. */
export function withWeight(row: ArrayLike<number>, key: number, value: number, allowed?: ArrayLike<number>): number[] {
  const own = Math.max(0, Math.min(1, value));
  const open = Array.from(row, (_, k) => k !== key && (allowed?.[k] ?? 1) !== 0);
  const others = open.reduce((sum, is, k) => sum + (is ? row[k] : 0), 0);
  const count = open.filter(Boolean).length;
  if (count === 0) return Array.from(row, (_, k) => Number(k === key));
  return open.map((is, k) => (k === key ? own : !is ? 0 : others > 0 ? (row[k] / others) * (1 - own) : (1 - own) / count));
}

/** A row of weights with what lay on one key laid on another. */
export const moved = (row: ArrayLike<number>, from: number, to: number): number[] =>
  Array.from(row, (value, k) => (k === from && from !== to ? 0 : k === to && from !== to ? value + row[from] : value));

/** The interventions with one row of some heads set to these weights, in place of what set it before. */
export function withRow(
  ops: readonly Op[],
  where: Pick<Looked, "kind" | "layer" | "head">,
  q: number,
  row: ArrayLike<number>,
): readonly Op[] {
  const kept = Array.from(row, (value, k) => [String(k), Math.round(value * 1e4) / 1e4] as const).filter(([, value]) => value > 0);
  const { kind, layer, head } = where;
  const op: Op = { op: "set_row", kind, layer, head, q, weights: Object.fromEntries(kept) };
  const at = ops.findIndex((one) => one.op === "set_row" && one.kind === kind && one.layer === layer && one.head === head && one.q === q);
  return at >= 0 ? ops.map((one, i) => (i === at ? op : one)) : [...ops, op];
}

/** Which intervention the server refused, by the path of the field that is wrong, and its reason without that path. */
export function refused({ detail, field }: { readonly detail: string; readonly field: string | null }): {
  readonly at: number | null;
  readonly reason: string;
} {
  const [list, at] = (field ?? "").split(".");
  const reason = field !== null && detail.startsWith(`${field}: `) ? detail.slice(field.length + 2) : detail;
  return { at: list === "interventions" && at !== undefined ? Number(at) : null, reason };
}
