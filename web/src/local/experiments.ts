/** What can be asked of a trace and of several models: influence, sweep, what-if, beam, compare. */
import type { BeamDocument, ChangeOut, CompareOut, InfluenceOut, SideOut, SweepOut, SweepRowOut, WhatIfOut } from "../api-types";
import { ApiError } from "../errors";
import type { TraceDraft } from "../lib/interventions";
import type { Edits } from "./edits";
import { type Answer, type Kind, KINDS, type LocalModel } from "./model";
import { agreedUnits, beginOf, sideOf, type Unit, unitsOf } from "./sides";
import { part, points, tidy } from "./text";
import { BOS, EOS, UNK } from "./tokenizer";
import { makeTrace, newTree, searchWith, type Trace } from "./trace";
import { answersTo, type Asked, fsum, optionsOf, read, settle, tokensOf } from "./translate";

/** log P of a target under a model with edits. */
const forced = (model: LocalModel, sources: readonly (readonly number[])[], target: readonly number[], edits?: Edits): Float32Array[] =>
  model.engine.within((arena) => model.score(sources, target, edits?.place(model, arena, sources, target.length) ?? 0, arena));

function leaveOut(
  model: LocalModel,
  source: readonly number[],
  target: readonly number[],
  units: readonly Unit[],
  replace: "unk" | "drop",
  edits?: Edits,
): number[][] {
  const without = units.map(({ tokens }) =>
    replace === "unk" ? source.map((id, i) => (tokens.includes(i) ? UNK : id)) : source.filter((_, i) => !tokens.includes(i)),
  );
  const [whole, ...rest] = forced(model, [source, ...without], target, edits);
  return target.map((_, t) => rest.map((one) => Math.fround(whole[t] - one[t])));
}

export function influence(trace: Trace, unit: "words" | "tokens", replace: "unk" | "drop"): InfluenceOut {
  const units = unitsOf(trace.manifest.source, unit);
  const values = leaveOut(trace.model, trace.source, trace.target, units, replace, trace.edits);
  return { unit, replace, units: units.map(({ text, tokens }) => ({ text, tokens })), values };
}

/** What masking each head alone does to the log-probability of the answer; a row for each layer. */
export function* sweep(trace: Trace, kinds: readonly Kind[] | null): Generator<SweepRowOut, SweepOut> {
  const { model, source, target, edits } = trace;
  const total = (with_: Edits) => fsum(forced(model, [source], target, with_)[0]);
  const baseline = total(edits);
  const found: Partial<Record<Kind, number[][]>> = {};
  for (const kind of KINDS) {
    const size = model.kinds[kind];
    if (!size || (kinds && !kinds.includes(kind))) continue;
    found[kind] = [];
    for (let layer = 0; layer < size.layers; layer++) {
      const values = Array.from({ length: size.heads }, (_, head) => Math.fround(total(edits.masking(kind, layer, head)) - baseline));
      found[kind]!.push(values);
      yield { kind, layer, values };
    }
  }
  return { baseline_logprob: trace.manifest.decode.score ?? baseline, kinds: found };
}

const sideOut = ({ manifest }: Trace): SideOut => ({
  id: manifest.id,
  text: manifest.target.text,
  score: manifest.decode.score ?? 0,
  tokens: manifest.target.tokens.map((token, t) => ({ text: token.piece, id: token.id, logprob: manifest.steps[t].logprob ?? 0 })),
});

export function whatIf(model: LocalModel, body: TraceDraft): { readonly answer: WhatIfOut; readonly traces: readonly Trace[] } {
  const baseline = makeTrace(model, { ...body, interventions: [] });
  const edited = makeTrace(model, body);
  const [a, b] = [baseline.target, edited.target];
  const same = shared(a, b);
  const answer: WhatIfOut = {
    baseline: sideOut(baseline),
    edited: sideOut(edited),
    diff: changes(a, b),
    first_divergence: same === a.length && same === b.length ? null : same,
    baseline_logprob_under_edit: fsum(forced(model, [edited.source], a, edited.edits)[0]),
  };
  return { answer, traces: [baseline, edited] };
}

const shared = (a: readonly number[], b: readonly number[]): number => {
  let n = 0;
  while (n < a.length && n < b.length && a[n] === b[n]) n++;
  return n;
};

/** How ids `b` come from `a`, as Python's difflib says it: what both begin with first, then the longest runs that match. */
export function changes(a: readonly number[], b: readonly number[]): ChangeOut[] {
  const matches: [number, number, number][] = [];
  const match = (a0: number, a1: number, b0: number, b1: number): void => {
    let [size, i0, j0] = [0, a0, b0];
    let before = new Map<number, number>();
    for (let i = a0; i < a1; i++) {
      const now = new Map<number, number>();
      for (let j = b0; j < b1; j++) {
        if (a[i] !== b[j]) continue;
        const run = (before.get(j - 1) ?? 0) + 1;
        now.set(j, run);
        if (run > size) [size, i0, j0] = [run, i - run + 1, j - run + 1];
      }
      before = now;
    }
    if (size === 0) return;
    match(a0, i0, b0, j0);
    matches.push([i0, j0, size]);
    match(i0 + size, a1, j0 + size, b1);
  };
  const n = shared(a, b);
  if (n > 0) matches.push([0, 0, n]);
  const from = matches.length;
  match(n, a.length, n, b.length);
  const joined = matches.slice(0, from);
  for (const [i, j, size] of matches.slice(from)) {
    const last = joined.length > from ? joined.at(-1)! : null;
    if (last && last[0] + last[2] === i && last[1] + last[2] === j) last[2] += size;
    else joined.push([i, j, size]);
  }
  const found: ChangeOut[] = [];
  let [i, j] = [0, 0];
  for (const [a0, b0, size] of [...joined, [a.length, b.length, 0]]) {
    const op = i < a0 && j < b0 ? "replace" : i < a0 ? "delete" : j < b0 ? "insert" : null;
    if (op) found.push({ op, a: [i, a0], b: [j, b0] });
    if (size > 0) found.push({ op: "equal", a: [a0, a0 + size], b: [b0, b0 + size] });
    [i, j] = [a0 + size, b0 + size];
  }
  return found;
}

type Node = BeamDocument["nodes"][number];

/** The tree of the search that wrote a trace's target: src/jumok/decoding/beam.py. */
export function beam(trace: Trace): BeamDocument {
  const { model, settled, manifest } = trace;
  if (!settled) throw new ApiError(404, "not_found", "this target was given, and no search wrote it");
  const ids = trace.source.slice(0, -1);
  const { limit, width } = optionsOf(model, settled, ids.length);
  const room = limit * (width ?? settled.beam) * (2 * Math.max(2 * settled.beam, settled.beam + 4));
  const { ways, answers } = model.engine.within((arena) => {
    const tree = newTree(model, arena, room);
    const found = searchWith(model, manifest.source.text, ids, settled, trace.edits, tree.at);
    return { ways: tree.read(), answers: found };
  });
  return grown(model, settled.beam, settled.length_penalty, ways, answers[0], trace.target);
}

const PRUNED = 3;
const penalty = (length: number, alpha: number) => ((5 + length) / 6) ** alpha;

function grown(
  model: LocalModel,
  width: number,
  alpha: number,
  ways: ReturnType<ReturnType<typeof newTree>["read"]>,
  answer: Answer,
  target: readonly number[],
): BeamDocument {
  const nodes: Node[] = [
    {
      n: 0,
      text: model.target.pieces[BOS],
      parent: null,
      t: -1,
      id: BOS,
      logprob: 0,
      score: 0,
      norm: 0,
      state: "expanded",
      rank: 0,
      beam: 0,
    },
  ];
  const children = new Map<string, number>();
  let live = [0];
  for (let at = 0; at < ways.step.length; ) {
    const step = ways.step[at];
    const next: number[] = [];
    const [seen, rejected] = [new Map<number, number>(), new Map<number, number>()];
    const t = nodes[live[0]].t + 1;
    for (; at < ways.step.length && ways.step[at] === step; at++) {
      const [row, id, place, logprob] = [ways.row[at], ways.token[at], ways.place[at], ways.logs[at]];
      const rank = seen.get(row) ?? 0;
      seen.set(row, rank + 1);
      const state = place >= 0 ? "expanded" : place === -2 ? "finished" : "pruned";
      if (state === "pruned") {
        rejected.set(row, (rejected.get(row) ?? 0) + 1);
        if (rejected.get(row)! > PRUNED) continue;
      }
      const parent = live[row];
      const score = nodes[parent].score + logprob;
      const n = nodes.length;
      children.set(`${parent} ${id}`, n);
      if (place >= 0) next[place] = n;
      nodes.push({
        n,
        text: model.target.pieces[id],
        parent,
        t,
        id,
        logprob,
        score,
        norm: score / penalty(t + 1, alpha),
        state,
        rank,
        beam: place >= 0 ? place : null,
      });
    }
    live = next;
  }
  const path = (ids: readonly number[]) => {
    const found = [0];
    for (const id of ids) {
      const n = children.get(`${found.at(-1)} ${id}`);
      if (n === undefined) break;
      found.push(n);
    }
    return found;
  };
  const written = (n: number): number[] => (nodes[n].parent === null ? [] : [...written(nodes[n].parent!), nodes[n].id]);
  const runners = [[...answer.ids], ...live.map(written)];
  const whole = [...answer.ids, ...(answer.finished ? [EOS] : [])];
  const cut = path(target);
  const chosen = cut.length === target.length + 1 ? cut : path(whole);
  const stable = Math.min(
    runners.reduce((least, one) => Math.min(least, shared(one, runners[0])), Infinity),
    chosen.length - 1,
  );
  const best = new Set(chosen);
  return {
    schema: "beam/1",
    beam: width,
    length_penalty: alpha,
    nodes: nodes.map((node) => (best.has(node.n) ? { ...node, state: "chosen" as const } : node)),
    chosen,
    stable_prefix: stable,
    dropped_candidates: `top ${PRUNED} per hypothesis`,
  };
}

/** chrF of one sentence (Popović 2015), 0 to 100, as sacrebleu computes it. */
export function chrf(hypothesis: string, reference: string): number {
  if (hypothesis === "" && reference === "") return 100;
  const [h, r] = [hypothesis, reference].map((text) => points(text.replace(/\s+/gu, "")));
  const grams = (chars: readonly string[], n: number) => {
    const counts = new Map<string, number>();
    for (let i = 0; i + n <= chars.length; i++) {
      const gram = chars.slice(i, i + n).join("");
      counts.set(gram, (counts.get(gram) ?? 0) + 1);
    }
    return counts;
  };
  let [precision, recall, orders] = [0, 0, 0];
  for (let n = 1; n <= 6; n++) {
    const [mine, theirs] = [grams(h, n), grams(r, n)];
    if (mine.size === 0 || theirs.size === 0) continue;
    let matched = 0;
    for (const [gram, count] of mine) matched += Math.min(count, theirs.get(gram) ?? 0);
    precision += matched / (h.length - n + 1);
    recall += matched / (r.length - n + 1);
    orders++;
  }
  if (precision + recall === 0) return 0;
  const [p, q] = [precision / orders, recall / orders];
  return (100 * 5 * p * q) / (4 * p + q);
}

export interface CompareDraft extends Asked {
  readonly models: readonly string[];
  readonly text: string;
  readonly reference?: string | null;
  readonly cuts?: readonly number[];
}

/** What two or three models make of one text, and of its beginnings. */
export function compare(
  models: readonly LocalModel[],
  body: CompareDraft,
): { readonly answer: CompareOut; readonly traces: readonly Trace[] } {
  const rank = ({ shape }: LocalModel) => ["rnn", "luong", "transformer"].indexOf(shape.arch);
  const order = [...models].sort((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1));
  const line = tidy(body.text);
  if (line === "") throw new ApiError(422, "empty_text", "a sentence is needed", "text");
  const sources = order.map((model) => read(model, line));
  const units = agreedUnits(order.map((model, n) => sideOf(model.source, sources[n].ids, line, "", { end: false })));
  const best = tidy(body.reference ?? "");
  const traces: Trace[] = [];
  const results = order.map((model, n) => {
    const { line: taken, ids } = sources[n];
    const answer = answersTo(model, taken, ids, settle(model, body))[0];
    const { models: _models, cuts: _cuts, reference: _reference, ...asked } = body;
    const trace = makeTrace(model, asked, answer);
    traces.push(trace);
    const tokens = tokensOf(model, answer);
    const score = fsum(answer.logs);
    const text = model.target.decode(answer.ids);
    return {
      model: model.name,
      arch: model.shape.arch,
      id: trace.manifest.id,
      text,
      score,
      score_per_token: score / Math.max(tokens.length, 1),
      chrf: best ? chrf(text, best) : null,
      tokens,
      influence: {
        unit: "words" as const,
        replace: "unk" as const,
        units: units[n].map((unit) => ({ text: unit.text, tokens: unit.tokens })),
        values: leaveOut(model, ids, trace.target, units[n], "unk"),
      },
    };
  });
  const words = units[0];
  const sizes = [...new Set((body.cuts ?? []).map((cut) => Math.min(cut, words.length)))].filter((size) => size > 0).sort((a, b) => a - b);
  const grow = sizes.map((size) => {
    const source = part(line, 0, words[size - 1].span[1]);
    const texts = order.map((model) => {
      const { line: taken, ids } = read(model, source);
      return model.target.decode(answersTo(model, taken, ids, settle(model, body))[0].ids);
    });
    const reference = best ? beginOf(best, size / words.length) : texts.at(-1)!;
    const scores = Object.fromEntries(order.map((model, n) => [model.name, { chrf: chrf(texts[n], reference), text: texts[n] }]));
    return { words: size, source, reference, scores };
  });
  const answer: CompareOut = {
    source: { text: line, words: words.map((unit) => unit.text) },
    pseudo_reference: best || grow.length === 0 ? null : order.at(-1)!.name,
    results,
    grow,
  };
  return { answer, traces };
}
