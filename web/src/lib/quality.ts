/** What the quality screen does with evaluations: lines by length, differences, examples, grey stretches. */
import { SCORES } from "./metrics";
import type { EvalBin, EvalOut, EvalDocument, EvalExample } from "../api-types";

export interface Judged {
  readonly card: EvalOut;
  readonly doc: EvalDocument;
  readonly label: string;
  /** series colour, that of its architecture */
  readonly colour: number;
}

/** Names of the systems; two with one name are told apart by their run. */
export function labelsOf(cards: readonly EvalOut[]): string[] {
  return cards.map((card) => {
    const twins = cards.filter((other) => other.model === card.model);
    return twins.length > 1 ? `${card.model} (${(card.run ?? card.id).replace(/~/g, "/")})` : card.model;
  });
}

/** Data sets by name, the one with the most systems first. */
export function dataSets(cards: readonly EvalOut[]): string[] {
  const count = new Map<string, number>();
  for (const card of cards) count.set(card.data, (count.get(card.data) ?? 0) + 1);
  return [...count].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map(([name]) => name);
}

const isNumber = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);

export interface Value {
  readonly value: number | null;
  readonly low: number | null;
  readonly high: number | null;
}

/** A metric of a bin with its interval. */
export function metricOf(bin: EvalBin, metric: string): Value {
  const value = bin[metric];
  const bounds = bin[`${metric}_ci95`];
  const [low, high] = Array.isArray(bounds) ? bounds : [];
  return { value: isNumber(value) ? value : null, low: isNumber(low) ? low : null, high: isNumber(high) ? high : null };
}

/** The difference of two values. Its interval joins both as if they were measured apart (Newcombe's square-and-add), which is a little too wide for one test set. */
export function difference(a: Value, b: Value): Value {
  if (a.value === null || b.value === null) return { value: null, low: null, high: null };
  const value = a.value - b.value;
  if (a.low === null || a.high === null || b.low === null || b.high === null) return { value, low: null, high: null };
  return { value, low: value - Math.hypot(a.value - a.low, b.high - b.value), high: value + Math.hypot(a.high - a.value, b.value - b.low) };
}

/** Metrics that some bins of some systems have, in the order people ask for them; the length ratio comes last. */
export function metricsOf(docs: readonly EvalDocument[]): string[] {
  const found = new Set<string>();
  for (const doc of docs)
    for (const bin of doc.by_length?.bins ?? []) for (const name of Object.keys(doc.metrics)) if (isNumber(bin[name])) found.add(name);
  const names = [...SCORES.filter((name) => found.has(name)), ...[...found].filter((name) => !SCORES.includes(name)).sort()];
  const ratio = docs.some((doc) => doc.by_length?.bins.some((bin) => isNumber(bin.length_ratio)));
  return ratio ? [...names, "length_ratio"] : names;
}

export interface Span {
  readonly lo: number;
  readonly hi: number;
  readonly n: number;
  readonly thin: boolean;
  readonly label: string;
  readonly middle: number;
}

/** All bins of the systems by length; an open end reaches as far as the training data or the bin before is wide. */
export function spansOf(docs: readonly EvalDocument[]): Span[] {
  const bins = new Map<number, EvalBin>();
  for (const doc of docs) for (const bin of doc.by_length?.bins ?? []) if ((bins.get(bin.lo)?.n ?? -1) < bin.n) bins.set(bin.lo, bin);
  const sorted = [...bins.values()].sort((a, b) => a.lo - b.lo);
  const before = sorted[sorted.length - 2];
  const width = before ? (before.hi ?? before.lo) - before.lo + 1 : 10;
  return sorted.map((bin) => {
    const hi = bin.hi ?? bin.lo + width - 1;
    const label = bin.hi === null ? `${bin.lo}+` : bin.hi === bin.lo ? String(bin.lo) : `${bin.lo}–${bin.hi}`;
    return { lo: bin.lo, hi, n: bin.n, thin: bin.thin === true, label, middle: (bin.lo + hi) / 2 };
  });
}

export const FEW = 0.02;

/** Stretches between `from` and `to` of which training had few sentences: per unit of length under 2 % of the fullest stretch, or none. */
export function rareLengths(histogram: EvalDocument["train_length_histogram"], from: number, to: number): { from: number; to: number }[] {
  const bars = [...(histogram ?? [])].sort((a, b) => a[0] - b[0]);
  if (bars.length === 0) return [];
  const density = ([lo, hi, n]: readonly [number, number, number]) => n / (hi - lo + 1);
  const peak = Math.max(...bars.map(density));
  const rare: { from: number; to: number }[] = [];
  const add = (low: number, high: number) => {
    const [start, end] = [Math.max(low, from), Math.min(high, to)];
    if (end <= start) return;
    const last = rare[rare.length - 1];
    if (last && last.to >= start) rare[rare.length - 1] = { from: last.from, to: end };
    else rare.push({ from: start, to: end });
  };
  let reached = -Infinity;
  for (const bar of bars) {
    add(reached, bar[0] - 0.5);
    if (density(bar) < FEW * peak) add(bar[0] - 0.5, bar[1] + 0.5);
    reached = bar[1] + 0.5;
  }
  add(reached, Infinity);
  return rare;
}

export interface Case {
  readonly line: number;
  readonly source: string;
  readonly reference: string;
  readonly worst: number | null;
  readonly answers: readonly { readonly system: number; readonly hypothesis: string; readonly chrf: number | null }[];
}

/** Sentences of the bin that starts at `lo`, the worst answer of any system first. */
export function casesOf(docs: readonly EvalDocument[], lo: number): Case[] {
  const found = new Map<
    number,
    { example: EvalExample; place: number; answers: { system: number; hypothesis: string; chrf: number | null }[] }
  >();
  docs.forEach((doc, system) => {
    const texts = new Map((doc.examples ?? []).map((example) => [example.line, example]));
    const lines = doc.by_length?.bins.find((bin) => bin.lo === lo)?.examples ?? [];
    lines.forEach((line, place) => {
      const example = texts.get(line);
      if (!example) return;
      const entry = found.get(line) ?? { example, place, answers: [] };
      entry.place = Math.min(entry.place, place);
      entry.answers.push({ system, hypothesis: example.hypothesis, chrf: isNumber(example.chrf) ? example.chrf : null });
      found.set(line, entry);
    });
  });
  const score = (entry: { answers: readonly { chrf: number | null }[] }) =>
    Math.min(...entry.answers.map((answer) => answer.chrf ?? Infinity));
  return [...found.entries()]
    .sort(([, a], [, b]) => (score(a) === score(b) ? a.place - b.place : score(a) - score(b)))
    .map(([line, entry]) => ({
      line,
      source: entry.example.source,
      reference: entry.example.reference,
      worst: Number.isFinite(score(entry)) ? score(entry) : null,
      answers: entry.answers,
    }));
}
