/** One translation with every number behind it, in the form trace/1: src/jumok/explain/trace.py and manifest.py. */
import type { HeadProfile, Manifest, TraceAttention, TraceStep } from "../api-types";
import { ApiError } from "../errors";
import type { Op, TraceDraft } from "../lib/interventions";
import type { Tensor } from "../lib/safetensors";
import { compileOps, Edits } from "./edits";
import { type Arena, int, long } from "./engine";
import { type Answer, type Kind, KINDS, LIMITS, type LocalModel, withEnd } from "./model";
import { sha256 } from "./sha256";
import { closed, label, sideOf } from "./sides";
import { tidy } from "./text";
import { EOS } from "./tokenizer";
import { answersTo, fsum, onlyServed, read, type Settled, settle } from "./translate";

const [KEEP_STEPS, KEEP_WEIGHTS, KEEP_STATES] = [1, 2, 4];
/** Parts of a recording by their numbers in jumok.h. */
const PARTS = { log_prob: 0, entropy: 1, top_log_prob: 2, top_id: 3, encoder: 4, decoder: 5, bridge: 6 };
const STAGE = { weights: 7, q: 8, k: 9, v: 10, scores: 11, scaled: 12, bias: 13, mask: 14, context: 15, out: 16 };
type Stage = keyof typeof STAGE;
const END = 17;
const TOP = 5;
const STAGES: readonly Stage[] = ["q", "k", "v", "scores", "scaled", "bias", "mask", "weights", "context", "out"];
const LUONG: Readonly<Record<string, Stage>> = { scores: "scores", weights: "weights", context: "context", attentional: "out" };

/** Reads parts of one recorded pass. */
interface Pass {
  floats(part: number, count: number, kind?: number, layer?: number): Float32Array<ArrayBuffer>;
  ints(part: number, count: number): Int32Array<ArrayBuffer>;
}

/** A teacher-forced pass with a recording; `stages`: the layers of attention whose stages are kept. */
function recorded<R>(
  model: LocalModel,
  source: readonly number[],
  target: readonly number[],
  edits: Edits,
  keep: number,
  stages: readonly (readonly [Kind, number])[],
  work: (pass: Pass) => R,
): R {
  const { engine, handle } = model;
  return engine.within((arena: Arena) => {
    const flags = KINDS.flatMap((kind) =>
      Array.from({ length: model.kinds[kind]?.layers ?? 0 }, (_, layer) => Number(stages.some(([k, n]) => k === kind && n === layer))),
    );
    const asked = arena.struct([keep, arena.bytes(flags), 0, arena.longs([0])].map(int));
    const [S, T] = [source.length, target.length];
    const at = (part: number, kind: number, layer: number) => Number(engine.c.jm_record_at(handle, asked, S, T, part, kind, layer));
    const data = arena.zeros(4 * at(END, 0, 0));
    engine.ints(asked, 4)[2] = data;
    model.record(arena, source, target, edits.place(model, arena, [source], T), asked);
    const place = (part: number, kind: number, layer: number) => {
      const found = at(part, kind, layer);
      if (found < 0) throw new ApiError(422, "bad_parameter", "this trace has no such tensor", "need");
      return data + 4 * found;
    };
    return work({
      floats: (part, count, kind = 0, layer = 0) => engine.floats(place(part, kind, layer), count).slice(),
      ints: (part, count) => engine.ints(place(part, 0, 0), count).slice(),
    });
  });
}

/** Where a recurrent decoder starts from after reading these ids. */
export function bridgeOf(model: LocalModel, ids: readonly number[]): Float32Array {
  const size = bridgeShape(model).reduce((product, n) => product * n, 1);
  return recorded(model, closed(ids), [EOS], new Edits(), KEEP_STATES, [], (pass) => pass.floats(PARTS.bridge, size));
}

const bridgeShape = ({ shape }: LocalModel): [number, number, number] => [shape.layers, shape.cell === "lstm" ? 2 : 1, shape.width];

export class Trace {
  readonly manifest: Manifest;
  private readonly kept = new Map<string, Tensor>();

  /** `source` has its end, `target` too if it came to one. */
  constructor(
    readonly model: LocalModel,
    readonly source: readonly number[],
    readonly target: readonly number[],
    readonly edits: Edits,
    readonly settled: Settled | null,
    about: {
      readonly line: string;
      readonly text: string;
      readonly ops: readonly Op[];
      readonly warnings: Manifest["warnings"];
      readonly ms: number | null;
    },
  ) {
    const [S, T] = [source.length, target.length];
    const recurrent = model.shape.arch !== "transformer";
    const keep = KEEP_STEPS | KEEP_WEIGHTS | (recurrent ? KEEP_STATES : 0);
    const steps = recorded(model, source, target, edits, keep, [], (pass) => {
      for (const kind of KINDS) {
        const size = model.kinds[kind];
        if (!size) continue;
        const [Q, K] = this.axes(kind);
        const one = size.heads * Q * K;
        const data = new Float32Array(size.layers * one);
        for (let layer = 0; layer < size.layers; layer++)
          data.set(pass.floats(STAGE.weights, one, KINDS.indexOf(kind), layer), layer * one);
        this.keep(`${kind}.weights`, [size.layers, size.heads, Q, K], data);
      }
      const D = model.shape.width;
      if (recurrent) {
        this.keep("rnn.encoder", [S, D], pass.floats(PARTS.encoder, S * D));
        this.keep("rnn.decoder", [T, D], pass.floats(PARTS.decoder, T * D));
        const bridge = bridgeShape(model);
        this.keep("rnn.bridge", bridge, pass.floats(PARTS.bridge, bridge[0] * bridge[1] * bridge[2]));
      }
      return this.steps(pass);
    });
    this.manifest = this.describe(about, steps);
  }

  private keep(name: string, shape: readonly number[], data: Float32Array | Uint8Array): void {
    this.kept.set(name, { shape, data, dtype: data instanceof Uint8Array ? "U8" : "F32" });
  }

  private axes(kind: Kind): [number, number] {
    const [S, T] = [this.source.length, this.target.length];
    return [kind === "enc_self" ? S : T, kind === "dec_self" ? T : S];
  }

  private steps(pass: Pass): TraceStep[] {
    const T = this.target.length;
    const [logs, entropy] = [pass.floats(PARTS.log_prob, T), pass.floats(PARTS.entropy, T)];
    const [values, ids] = [pass.floats(PARTS.top_log_prob, TOP * T), pass.ints(PARTS.top_id, TOP * T)];
    const shown = (id: number) => label(this.model.target.pieces[id]);
    return this.target.map((id, t) => {
      const places = Array.from({ length: TOP }, (_, i) => TOP * t + i).filter((i) => ids[i] >= 0);
      const top = places.map((i) => ({ id: ids[i], text: shown(ids[i]), piece: this.model.target.pieces[ids[i]], logprob: values[i] }));
      return { t, id, text: shown(id), logprob: logs[t], entropy: entropy[t] / Math.LN2, top };
    });
  }

  private describe(
    {
      line,
      text,
      ops,
      warnings,
      ms,
    }: { line: string; text: string; ops: readonly Op[]; warnings: Manifest["warnings"]; ms: number | null },
    steps: TraceStep[],
  ): Manifest {
    const { model, settled } = this;
    const { shape } = model;
    const ended = this.target.at(-1) === EOS;
    const written = ended ? this.target.slice(0, -1) : this.target;
    const fed = this.target.slice(0, -1);
    const settings = settled === null ? { method: "given" as const } : searchSettings(settled);
    const id = sha256(
      new TextEncoder().encode(JSON.stringify([model.fingerprint, model.dtype, this.source, this.target, settings, ops])),
    ).slice(0, 16);
    const score = fsum(steps.map((step) => step.logprob ?? 0));
    const recurrent = shape.arch !== "transformer";
    const parts = { cell: shape.cell, bidirectional: shape.bidirectional, input_feeding: shape.arch === "luong" && shape.input_feeding };
    const sides = {
      source: {
        ...sideOf(model.source, this.source, line, model.languages[0], { end: true }),
        ...(model.novelty ? { novelty: model.novelty.count(this.source.at(-1) === EOS ? this.source.slice(0, -1) : this.source) } : {}),
      },
      target: {
        origin: settled === null ? ("given" as const) : ("decoded" as const),
        ...sideOf(model.target, written, text, model.languages[1], { end: ended }),
      },
      target_in: sideOf(model.target, fed, model.target.decode(fed), model.languages[1], { end: false, start: true }),
    };
    const attention: Partial<Record<Kind, TraceAttention>> = {};
    for (const kind of KINDS) {
      const weights = this.kept.get(`${kind}.weights`);
      if (!weights) continue;
      const q = kind === "enc_self" ? "source" : "target";
      const k = kind === "dec_self" ? "target_in" : "source";
      const special = sides[k].tokens.map((token) => token.span === null);
      attention[kind] = {
        q,
        k,
        causal: kind === "dec_self",
        shape: weights.shape as [number, number, number, number],
        stages: STAGES.filter((stage) => stage !== "bias" || (shape.positions === "relative" && !recurrent && kind !== "cross")),
        atlas: { tensor: `${kind}.atlas` },
        fingerprint: headProfile(weights, special, kind),
      };
    }
    const states = (name: string) => this.kept.get(`rnn.${name}`)!.shape;
    return {
      schema: "trace/1",
      id,
      model: {
        name: model.name,
        arch: shape.arch,
        fingerprint: model.fingerprint,
        src_lang: model.languages[0],
        tgt_lang: model.languages[1],
        dtype: model.dtype,
        device: "wasm",
        d_model: shape.width,
        max_length: model.maxLength,
        source: "text",
        image: null,
        layers: { encoder: shape.encoder_layers, decoder: shape.decoder_layers },
        positions: model.placing,
        score: model.scoring,
        kinds: model.kinds,
        ...(recurrent ? { recurrent: parts } : {}),
      },
      ...sides,
      decode: { ...settings, score, score_per_token: score / Math.max(steps.length, 1), finished: ended, ms },
      steps,
      attention,
      rnn: recurrent
        ? {
            encoder: states("encoder") as [number, number],
            decoder: states("decoder") as [number, number],
            bridge: states("bridge") as [number, number, number],
            layers: shape.layers,
            ...parts,
          }
        : null,
      beam: settings.method === "beam" ? { href: `/v1/traces/${id}/beam` } : null,
      influence: { href: `/v1/traces/${id}/influence` },
      positions: model.placing ? { href: `/v1/models/${encodeURIComponent(model.name)}/positions?n=64` } : null,
      interventions: ops as unknown as Manifest["interventions"],
      warnings,
    };
  }

  /** A tensor by its need, such as `cross.weights:2.3`. */
  tensor(need: string): Tensor {
    const found = /^([a-z_]+)\.([a-z]+)(?::(\d+)(?:\.(\d+))?)?$/.exec(need);
    if (!found) throw new ApiError(422, "bad_parameter", `${JSON.stringify(need)} names no tensor`, "need");
    const [, group, part, layer, head] = found;
    if (group === "forward") throw onlyServed("every tensor of a pass");
    if (group === "rnn") return this.whole(need);
    if (group === "luong") return this.sliced("cross", LUONG[part], 0, 0);
    const kind = group as Kind;
    const stage = (part === "atlas" ? "weights" : part) as Stage;
    const at = (text: string | undefined) => (text === undefined ? null : Number(text));
    const tensor = this.sliced(kind, stage, at(layer), at(head));
    if (part !== "atlas") return tensor;
    const shades = Uint8Array.from(tensor.data, (w) => 5 * Math.round(51 * Math.sqrt(Math.max(0, Math.min(1, w)))));
    return { shape: tensor.shape, data: shades, dtype: "U8" };
  }

  private whole(name: string): Tensor {
    const found = this.kept.get(name);
    if (!found) throw new ApiError(422, "bad_parameter", `this trace has no tensor ${name}`, "need");
    return found;
  }

  private sliced(kind: Kind, stage: Stage, layer: number | null, head: number | null): Tensor {
    const size = this.model.kinds[kind];
    if (!size || !(stage in STAGE) || (layer ?? 0) >= size.layers || (head ?? 0) >= size.heads)
      throw new ApiError(422, "bad_parameter", `this trace has no tensor ${kind}.${stage}:${layer}.${head}`, "need");
    if (stage === "weights") return slice(this.whole(`${kind}.weights`), layer, head);
    if (layer === null) {
      const all = Array.from({ length: size.layers }, (_, n) => this.stage(kind, stage, n));
      const data =
        all[0].data instanceof Uint8Array
          ? new Uint8Array(all.length * all[0].data.length)
          : new Float32Array(all.length * all[0].data.length);
      all.forEach((one, n) => data.set(one.data, n * one.data.length));
      return { shape: [all.length, ...all[0].shape], data, dtype: all[0].dtype };
    }
    return slice(this.stage(kind, stage, layer), stage === "out" ? null : head, null);
  }

  /** A stage of a layer, computed with all others of that layer when one is first asked for. */
  private stage(kind: Kind, stage: Stage, layer: number): Tensor {
    const name = (one: Stage) => `${kind}.${one}:${layer}`;
    if (!this.kept.has(name("q"))) {
      const [Q, K] = this.axes(kind);
      const { heads, d_head } = this.model.kinds[kind]!;
      const shapes: Record<string, number[]> = {
        q: [heads, Q, d_head],
        k: [heads, K, d_head],
        v: [heads, K, d_head],
        context: [heads, Q, d_head],
        out: [Q, this.model.shape.width],
      };
      recorded(this.model, this.source, this.target, this.edits, 0, [[kind, layer]], (pass) => {
        for (const one of this.manifest.attention[kind]!.stages) {
          if (one === "weights") continue;
          const shape = shapes[one] ?? [heads, Q, K];
          const count = shape.reduce((product, n) => product * n, 1);
          const data = pass.floats(STAGE[one], count, KINDS.indexOf(kind), layer);
          this.keep(name(one), shape, one === "mask" ? Uint8Array.from(data) : data);
        }
      });
    }
    return this.whole(name(stage));
  }
}

/** A tensor without its first axes: the n-th of each, null for all. */
function slice(tensor: Tensor, first: number | null, second: number | null): Tensor {
  let { shape, data } = tensor;
  for (const at of [first, second]) {
    if (at === null) break;
    const size = data.length / shape[0];
    data = data.subarray(at * size, (at + 1) * size);
    shape = shape.slice(1);
  }
  return { shape, data, dtype: tensor.dtype };
}

function searchSettings(settled: Settled) {
  const { beam, n_best, length_penalty, max_len, min_len, no_repeat_ngram, prefix, ban, require } = settled;
  const method = beam === 1 ? ("greedy" as const) : ("beam" as const);
  const drawn = { temperature: null, top_k: null, top_p: null, seed: null };
  return { method, beam, n_best, length_penalty, max_len, min_len, no_repeat_ngram, ...drawn, prefix, ban, require };
}

/** What each head mostly does: src/jumok/explain/head_profile.py. */
function headProfile({ shape, data }: Tensor, special: readonly boolean[], kind: Kind): HeadProfile {
  const [L, H, Q, K] = shape;
  const [causal, same] = [kind === "dec_self", kind !== "cross"];
  const slope = (K - 1) / Math.max(Q - 1, 1);
  let most = 0;
  for (let q = 0; q < Q; q++) most += Math.log2(causal ? Math.min(q + 1, K) : K) / Q;
  const share = (x: number) => Math.min(1, Math.max(0, x));
  const one = (at: number) => {
    const sum = { entropy: 0, distance: 0, diagonal: 0, previous: 0, special: 0, max: 0 };
    for (let q = 0; q < Q; q++) {
      let [entropy, max] = [0, 0];
      for (let k = 0; k < K; k++) {
        const w = data[at + q * K + k];
        if (w > 0) entropy -= w * Math.log2(w);
        max = Math.max(max, w);
        sum.distance += w * Math.abs(q - k);
        if (Math.abs(q * slope - k) <= Math.max(slope, 1) / 2) sum.diagonal += w;
        if (q > 0 && k === q - 1) sum.previous += w;
        if (special[k]) sum.special += w;
      }
      sum.entropy += Math.max(0, entropy);
      sum.max += max;
    }
    const mean = {
      entropy: sum.entropy / Q,
      distance: sum.distance / Q,
      diagonal: share(sum.diagonal / Q),
      previous: Q > 1 ? share(sum.previous / (Q - 1)) : 0,
      special: share(sum.special / Q),
      max: share(sum.max / Q),
    };
    const broad = mean.entropy >= 0.8 * most ? "broad" : "mixed";
    const name =
      mean.special >= 0.5
        ? "special"
        : same && mean.previous >= 0.5
          ? "previous"
          : mean.diagonal >= 0.5
            ? "diagonal"
            : mean.max >= 0.5
              ? "sharp"
              : broad;
    return { ...mean, label: name as HeadProfile["label"][number][number] };
  };
  const all = Array.from({ length: L }, (_, l) => Array.from({ length: H }, (_, h) => one((l * H + h) * Q * K)));
  const table = <N extends keyof ReturnType<typeof one>>(name: N) => all.map((row) => row.map((head) => head[name]));
  return {
    entropy: table("entropy"),
    distance: table("distance"),
    diagonal: table("diagonal"),
    previous: table("previous"),
    special: table("special"),
    max: table("max"),
    label: table("label"),
  };
}

/** The trace of a text and its translation: the one given, or what the model makes of it. */
export function makeTrace(model: LocalModel, body: TraceDraft, known?: Answer): Trace {
  if (tidy(body.text) === "") throw new ApiError(422, "empty_text", "a sentence is needed", "text");
  const meant = (body.fingerprint ?? "").replace(/^sha256:/, "");
  if (meant && !model.fingerprint.startsWith(meant)) throw new ApiError(409, "fingerprint_differs", "the model is another one now");
  const ops = body.interventions ?? [];
  let all = 0;
  const reading = (text: string) => {
    const found = read(model, text);
    all = found.all;
    return found;
  };
  const compiled = compileOps(model, ops, reading, body.text, settle(model, body), (ids) => bridgeOf(model, ids));
  const { line, ids, edits, settled } = compiled;
  if (ops.length === 0) reading(body.text);
  const source = closed(ids);
  if (source.length > LIMITS.trace_tokens) throw tooLong("source", source.length);
  const warnings: Manifest["warnings"][number][] = [];
  if (all > ids.length) warnings.push({ code: "source_truncated", message: `source cut from ${all} to ${ids.length} tokens` });
  if (typeof body.target === "string") {
    const text = tidy(body.target);
    const target = [...model.target.encode(text), EOS];
    if (target.length > LIMITS.trace_tokens) throw tooLong("target", target.length);
    return new Trace(model, source, target, edits, null, { line, text, ops, warnings, ms: null });
  }
  const began = performance.now();
  const answer = known ?? searchWith(model, line, ids, settled, edits)[0];
  const ms = performance.now() - began;
  const target = withEnd(answer);
  if (target.length > LIMITS.trace_tokens) throw tooLong("target", target.length);
  if (!answer.finished)
    warnings.push({ code: "target_unfinished", message: `the answer was stopped after ${target.length} tokens, before its end` });
  return new Trace(model, source, target, edits, settled, { line, text: model.target.decode(answer.ids), ops, warnings, ms });
}

const tooLong = (side: string, count: number) =>
  new ApiError(422, "too_long", `the ${side} has ${count} tokens, and a trace takes ${LIMITS.trace_tokens}`);

/** The search of a model with edits. */
export function searchWith(model: LocalModel, line: string, ids: readonly number[], settled: Settled, edits: Edits, tree = 0): Answer[] {
  if (edits.none && tree === 0) return answersTo(model, line, ids, settled);
  return model.engine.within((arena) =>
    answersTo(model, line, ids, settled, { edits: edits.place(model, arena, [closed(ids)], settled.max_len), tree }),
  );
}

/** An empty jm_tree with so much room, and how to read it. */
export function newTree(model: LocalModel, arena: Arena, room: number) {
  const columns = [0, 1, 2, 3, 4].map(() => arena.zeros(4 * room));
  const at = arena.struct([long(room), long(0), ...columns.map(int)]);
  const count = () => Math.min(room, Number(new BigInt64Array(model.engine.c.memory.buffer, at, 2)[1]));
  const ints = (column: number) => model.engine.ints(columns[column], count()).slice();
  return {
    at,
    read: () => ({ step: ints(0), row: ints(1), token: ints(2), place: ints(3), logs: model.engine.floats(columns[4], count()).slice() }),
  };
}
