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

/** An intervention with the values a form begins with: the last layer of the attention to the source, where there is one. */
export function begin(name: OpName, card: Card): Op {
  const kind: Kind = card.kinds.cross ? "cross" : (KINDS.find((one) => card.kinds[one]) ?? "cross");
  const where = { op: name, kind, layer: (card.kinds[kind]?.layers ?? 1) - 1, head: 0 };
  switch (name) {
    case "scale_head":
      return { ...where, factor: 0.5 };
    case "mask_edge":
      return { ...where, layer: "*", head: "*", q: 0, k: 0 };
    case "set_row":
      return { ...where, q: 0, weights: { "0": 1 } };
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

/** The place of an intervention that silences exactly this head; -1 without one. */
export const maskAt = (ops: readonly Op[], kind: Kind, layer: number, head: number): number =>
  ops.findIndex((op) => op.op === "mask_head" && op.kind === kind && op.layer === layer && op.head === head);

/** Which intervention the server refused, by the path of the field that is wrong, and its reason without that path. */
export function refused({ detail, field }: { readonly detail: string; readonly field: string | null }): {
  readonly at: number | null;
  readonly reason: string;
} {
  const [list, at] = (field ?? "").split(".");
  const reason = field !== null && detail.startsWith(`${field}: `) ? detail.slice(field.length + 2) : detail;
  return { at: list === "interventions" && at !== undefined ? Number(at) : null, reason };
}
