/** Seen in training, in the tab: a twin of src/jumok/explain/neighbours.py and states.py, which say what is computed. */
import type { Neighbours, StateSide, TrainingPair } from "../api-types";
import { ApiError } from "../errors";
import type { TraceDraft } from "../lib/interventions";
import { range } from "../lib/range";
import { readSafetensors } from "../lib/safetensors";
import { INDEX, type LocalModel } from "./model";
import { planeOf, type Plane } from "./plane";
import { closed, label } from "./sides";
import { makeTrace, type Trace } from "./trace";
import { EOS } from "./tokenizer";

const [MOST, LONGEST] = [127, 128];
const SIDES = ["encoder", "decoder"] as const;
type Side = (typeof SIDES)[number];

/** States of one side of some training pairs: row n of the codes belongs to token `places[n]` of pair `pairs[n]`. */
interface Known {
  readonly codes: Float32Array;
  readonly width: number;
  readonly pairs: Float32Array;
  readonly places: Float32Array;
  readonly plane: Plane;
}
interface Index extends Readonly<Record<Side, Known>> {
  readonly texts: readonly (readonly [string, string])[];
}

const bad = (reason: string) => new ApiError(422, "bad_neighbours", `${INDEX} cannot be used: ${reason}`);

/** The index in a file, if it is of these weights and its states fit its pairs. */
function parseIndex(file: ArrayBuffer, weights: string): Index {
  let said: Readonly<Record<string, string>>;
  try {
    const length = Number(new DataView(file).getBigUint64(0, true));
    said = JSON.parse(new TextDecoder().decode(new Uint8Array(file, 8, length))).__metadata__;
    if (said.format !== "jumok-neighbours/1") throw bad(`its format is ${said.format}`);
    if (said.weights !== weights) throw bad("it was made for other weights");
    const texts = JSON.parse(said.index).pairs as Index["texts"];
    const tensors = readSafetensors(file);
    const side = (name: Side): Known => {
      const [codes, pairs, places] = ["codes", "pairs", "places"].map((part) => tensors.get(`${name}.${part}`)!);
      const [rows, width] = codes.shape;
      const within = (numbers: ArrayLike<number>, most: number) => Array.from(numbers).every((n) => n >= 0 && n < most);
      if (pairs.data.length !== rows || places.data.length !== rows) throw bad("its states do not fit its pairs");
      if (!within(pairs.data, texts.length) || !within(places.data, LONGEST)) throw bad("its states do not fit its pairs");
      const data = codes.data as Float32Array;
      const known = { codes: data, width, pairs: pairs.data as Float32Array, places: places.data as Float32Array };
      return { ...known, plane: planeOf(data, width) };
    };
    return { texts, encoder: side("encoder"), decoder: side("decoder") };
  } catch (error) {
    throw error instanceof ApiError ? error : bad("it is damaged");
  }
}

const indices = new WeakMap<LocalModel, Promise<Index>>();

/** The index of a model, read when it is first asked for. */
function indexOf(model: LocalModel): Promise<Index> {
  if (!model.card.neighbours) throw new ApiError(422, "no_neighbours", "the model has no index of training states");
  const found = indices.get(model) ?? model.file(INDEX).then((file) => parseIndex(file.buffer, model.weightsHash));
  indices.set(model, found);
  found.catch(() => indices.delete(model));
  return found;
}

export interface NeighboursDraft extends TraceDraft {
  readonly count?: number;
  readonly points?: boolean;
}

/** The training states most like those of a text and its answer, or a target. */
export async function neighbours(model: LocalModel, body: NeighboursDraft): Promise<Neighbours> {
  const { count = 5, points = false } = body;
  if (!(Number.isInteger(count) && count >= 1 && count <= 50))
    throw new ApiError(422, "bad_parameter", "count must be a number from 1 to 50", "count");
  const index = await indexOf(model);
  const trace = makeTrace(model, { text: body.text, target: body.target } as TraceDraft);
  const states = statesOf(trace);
  const sides = Object.fromEntries(
    SIDES.map((side) => [side, sideOf(index[side], states[side], shown(model, side, trace), count, points)]),
  ) as Record<Side, StateSide>;
  const named = points ? range(index.texts.length) : [...new Set(SIDES.flatMap((side) => sides[side].tokens.flatMap(pairsNear)))];
  return {
    source: trace.manifest.source.text,
    target: trace.manifest.target.text,
    states: SIDES.reduce((sum, side) => sum + index[side].pairs.length, 0),
    ...sides,
    pairs: named.sort((a, b) => a - b).map((n) => trainingPair(model, n, index.texts[n])),
  };
}

const pairsNear = (token: StateSide["tokens"][number]) => token.near.map((one) => one.pair);

/** The states of a trace, one below the other: of each source token, and of each step. */
function statesOf(trace: Trace): Record<Side, Float32Array> {
  const floats = (need: string) => trace.tensor(need).data as Float32Array;
  const { kinds, shape } = trace.model;
  if (!kinds.cross) return { encoder: floats("rnn.encoder"), decoder: floats("rnn.decoder") };
  const last = kinds.cross.layers - 1;
  const decoder = floats(`cross.out:${last}`);
  if (shape.arch !== "transformer") return { encoder: floats("rnn.encoder"), decoder };
  const { shape: axes, data } = trace.tensor(`cross.k:${last}`);
  const [heads, rows, width] = axes; // (H, S, d) → (S, H, d)
  const encoder = new Float32Array(data.length);
  for (let h = 0; h < heads; h++)
    for (let s = 0; s < rows; s++)
      encoder.set(data.subarray((h * rows + s) * width, (h * rows + s + 1) * width) as Float32Array, (s * heads + h) * width);
  return { encoder, decoder };
}

/** c = round(127 x / max |x|) */
function coded(state: Float32Array): Float32Array {
  const most = state.reduce((max, x) => Math.max(max, Math.abs(x)), 0) || 1;
  return state.map((x) => Math.round((MOST * x) / most));
}

function sideOf(known: Known, states: Float32Array, tokens: readonly Named[], count: number, points: boolean): StateSide {
  const { width, plane } = known;
  if (states.length !== tokens.length * width) throw bad("its states are of another width");
  const row = (codes: Float32Array, n: number) => codes.subarray(n * width, (n + 1) * width);
  const rows = range(known.pairs.length);
  const place = (codes: Float32Array) => {
    const [x, y] = plane.place(codes);
    return { x, y };
  };
  const found = tokens.map(({ id, text }, q) => {
    const asked = coded(row(states, q));
    const like = rows.map((n) => cosine(asked, row(known.codes, n)));
    const best = [...rows].sort((a, b) => like[b] - like[a] || a - b).slice(0, count);
    const near = best.map((n) => ({ pair: known.pairs[n], place: known.places[n], similarity: Math.round(like[n] * 1e6) / 1e6 }));
    return { id, text: text.trim(), near, ...place(asked) };
  });
  const all = points ? rows.map((n) => ({ pair: known.pairs[n], place: known.places[n], ...place(row(known.codes, n)) })) : [];
  return { tokens: found, shares: plane.shares, points: all };
}

/** cos(a, b) = a · b / (|a| |b|); a code of nothing but zeros is like none. */
function cosine(a: Float32Array, b: Float32Array): number {
  let [ab, aa, bb] = [0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    ab += a[i] * b[i];
    aa += a[i] * a[i];
    bb += b[i] * b[i];
  }
  return ab / (Math.sqrt(aa * bb) || 1);
}

interface Named {
  readonly id: number;
  readonly text: string;
}

const shown = (model: LocalModel, side: Side, trace: Trace): Named[] =>
  (side === "encoder" ? trace.source : trace.target).map((id) => ({ id, text: read(model, side, id) }));

/** A token as people read it, with the space that it begins with. */
function read(model: LocalModel, side: Side, id: number): string {
  const piece = (side === "encoder" ? model.source : model.target).pieces[id];
  return (/^\s/.test(piece) && piece.trim() !== "" ? " " : "") + label(piece);
}

function trainingPair(model: LocalModel, n: number, [source, target]: readonly [string, string]): TrainingPair {
  return {
    n,
    source,
    target,
    encoder: closed(model.source.encode(source)).map((id) => read(model, "encoder", id)),
    decoder: [...model.target.encode(target), EOS].map((id) => read(model, "decoder", id)),
  };
}
