/** Interventions to what the engine and a search understand, checked against both: src/jumok/explain/edits.py. */
import { ApiError } from "../errors";
import type { Op } from "../lib/interventions";
import { type Arena, int } from "./engine";
import { type Kind, KINDS, type LocalModel } from "./model";
import { closed, sideOf, unitsOf } from "./sides";
import { points, tidy } from "./text";
import type { Settled } from "./translate";

const MOST = 64;
const MOST_LINKS = 2 ** 18;

/** What the interventions do to one attention layer. */
interface Draft {
  noScale: boolean;
  readonly factors: Map<number, number>;
  /** head, query and key */
  readonly cut: Map<string, readonly [number, number, number]>;
  readonly rows: Map<string, { readonly head: number; readonly q: number; readonly weights: readonly (readonly [number, number])[] }>;
  readonly uniform: Set<number>;
}
interface PositionEdit {
  readonly mode: "none" | "shuffle" | "shift";
  readonly seed: number;
  readonly by: number;
}

/** All that a what-if changes inside a model. */
export class Edits {
  readonly layers = new Map<string, Draft>();
  readonly positions: { source?: PositionEdit; target?: PositionEdit } = {};
  bridge: Float32Array | null = null;

  get none(): boolean {
    return this.layers.size === 0 && !this.positions.source && !this.positions.target && !this.bridge;
  }

  draft(kind: Kind, layer: number): Draft {
    const key = `${kind}.${layer}`;
    const found = this.layers.get(key) ?? { noScale: false, factors: new Map(), cut: new Map(), rows: new Map(), uniform: new Set() };
    this.layers.set(key, found);
    return found;
  }

  /** The same with one more head masked. */
  masking(kind: Kind, layer: number, head: number): Edits {
    const other = new Edits();
    for (const [key, draft] of this.layers) other.layers.set(key, { ...draft, factors: new Map(draft.factors) });
    Object.assign(other.positions, this.positions);
    other.bridge = this.bridge;
    other.draft(kind, layer).factors.set(head, 0);
    return other;
  }

  /** The address of jm_edits for sources with their ends; 0 where nothing is changed. `most`: tokens of a target. */
  place(model: LocalModel, arena: Arena, sources: readonly (readonly number[])[], most: number): number {
    if (this.none) return 0;
    const heads = model.shape.arch === "transformer" ? model.shape.heads : 1;
    const layers = [...this.layers].map(([key, draft]) => {
      const [kind, layer] = key.split(".");
      const cut = [...draft.cut.values()].sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]);
      const cells = [...draft.rows.values()]
        .flatMap(({ head, q, weights }) => weights.map(([k, weight]) => [head, q, k, weight] as const))
        .sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]);
      const factors = Array.from({ length: heads }, (_, head) => draft.factors.get(head) ?? 1);
      const uniform = Array.from({ length: heads }, (_, head) => Number(draft.uniform.has(head)));
      return [
        int(KINDS.indexOf(kind as Kind)),
        int(Number(layer)),
        int(draft.noScale),
        int(draft.factors.size > 0 ? arena.floats(factors) : 0),
        int(draft.uniform.size > 0 ? arena.bytes(uniform) : 0),
        int(cut.length),
        int(cells.length),
        int(arena.ints(cut.flat())),
        int(arena.ints(cells.flatMap((cell) => cell.slice(0, 3)))),
        int(arena.floats(cells.map((cell) => cell[3]))),
      ];
    });
    const { source, target } = this.positions;
    const rows = model.placing === "learned" ? model.shape.max_positions : Infinity;
    const moved = (edit: PositionEdit | undefined, places: () => number[]) => (edit && edit.mode !== "none" ? arena.ints(places()) : 0);
    return arena.struct(
      [
        layers.length,
        arena.structs(layers),
        Number(source?.mode === "none"),
        Number(target?.mode === "none"),
        moved(source, () => sources.flatMap((ids) => sourcePlaces(source!, ids.length))),
        moved(target, () => targetPlaces(target!, most, rows)),
        most,
        this.bridge ? arena.floats(this.bridge) : 0,
      ].map(int),
    );
  }
}

const sourcePlaces = (edit: PositionEdit, count: number): number[] =>
  edit.mode === "shuffle" ? shuffled(count, edit.seed) : Array.from({ length: count }, (_, i) => Math.max(0, i + edit.by));

function targetPlaces(edit: PositionEdit, count: number, rows: number): number[] {
  const order = shuffled(8, edit.seed);
  const whole = rows - (rows % 8); // a block that a table cuts off stays as it is
  return Array.from({ length: count }, (_, i) =>
    edit.mode === "shift" ? Math.max(0, i + edit.by) : rows === Infinity || i < whole ? i - (i % 8) + order[i % 8] : i,
  );
}

/** torch.randperm: the first numbers of a Mersenne Twister (MT19937) exchange places. */
export function shuffled(count: number, seed: number): number[] {
  const state = new Uint32Array(624);
  state[0] = seed;
  for (let i = 1; i < 624; i++) {
    const before = state[i - 1] ^ (state[i - 1] >>> 30);
    state[i] = Math.imul(1812433253, before) + i;
  }
  let at = 624;
  const next = () => {
    if (at === 624) {
      for (let i = 0; i < 624; i++) {
        const y = (state[i] & 0x80000000) | (state[(i + 1) % 624] & 0x7fffffff);
        state[i] = state[(i + 397) % 624] ^ (y >>> 1) ^ (y & 1 ? 0x9908b0df : 0);
      }
      at = 0;
    }
    let y = state[at++];
    y ^= y >>> 11;
    y ^= (y << 7) & 0x9d2c5680;
    y ^= (y << 15) & 0xefc60000;
    return (y ^ (y >>> 18)) >>> 0;
  };
  const order = Array.from({ length: count }, (_, i) => i);
  for (let i = 0; i < count - 1; i++) {
    const other = i + (next() % (count - i));
    [order[i], order[other]] = [order[other], order[i]];
  }
  return order;
}

/** What a what-if runs: this line, these edits, these settings. */
export interface Compiled {
  readonly line: string;
  readonly ids: readonly number[];
  readonly settled: Settled;
  readonly edits: Edits;
}

export function compileOps(
  model: LocalModel,
  ops: readonly Op[],
  read: (text: string) => { readonly line: string; readonly ids: readonly number[] },
  text: string,
  settled: Settled,
  bridgeOf: (ids: readonly number[]) => Float32Array,
): Compiled {
  if (ops.length > MOST) throw bad(`there are ${ops.length} interventions, and ${MOST} is the most`, "interventions");
  const source = read(replaceWords(model, ops, read(text)));
  const compiler = new Compiler(model, closed(source.ids).length, { ...settled }, bridgeOf, read);
  ops.forEach((op, n) => {
    try {
      compiler.add(op);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      throw new ApiError(422, error.code, `${op.op}: ${error.detail}`, `interventions.${n}${error.field ? `.${error.field}` : ""}`);
    }
  });
  return { ...source, settled: compiler.settled, edits: compiler.edits };
}

const bad = (detail: string, field: string | null = null) => new ApiError(422, "bad_parameter", detail, field);
const span = (count: number) => (count === 1 ? "0 only" : `0 to ${count - 1}`);

function replaceWords(
  model: LocalModel,
  ops: readonly Op[],
  { line, ids }: { readonly line: string; readonly ids: readonly number[] },
): string {
  const wanted = new Map<number, { readonly n: number; readonly text: string }>();
  ops.forEach((op, n) => {
    if (op.op === "replace_source") wanted.set(Number(op.unit), { n, text: String(op.text ?? "") });
  });
  if (wanted.size === 0) return line;
  const words = unitsOf(sideOf(model.source, ids, line, "", { end: false }));
  const chars = points(line);
  for (const [unit, { n, text }] of [...wanted].sort((a, b) => b[0] - a[0])) {
    if (!(unit < words.length))
      throw bad(`replace_source: unit ${unit} does not exist; the source has words ${span(words.length)}`, `interventions.${n}.unit`);
    chars.splice(words[unit].span[0], words[unit].span[1] - words[unit].span[0], ...points(text));
  }
  const after = tidy(chars.join(""));
  if (after === "") throw bad("replace_source: nothing is left of the source", "interventions");
  return after;
}

const whole = (value: unknown, field: string): number => {
  if (typeof value !== "number" || !Number.isInteger(value) || value < 0)
    throw bad(`${field} is ${JSON.stringify(value)}; it must be a whole number from 0 up`, field);
  return value;
};
const several = (value: unknown, field: string): number[] => (Array.isArray(value) ? value : [value]).map((one) => whole(one, field));

class Compiler {
  readonly edits = new Edits();
  private links = 0;

  constructor(
    private readonly model: LocalModel,
    private readonly length: number,
    readonly settled: { -readonly [key in keyof Settled]: Settled[key] },
    private readonly bridgeOf: (ids: readonly number[]) => Float32Array,
    private readonly read: (text: string) => { readonly ids: readonly number[] },
  ) {}

  add(op: Op): void {
    switch (op.op) {
      case "mask_head":
      case "scale_head":
      case "mask_edge":
      case "set_row":
      case "uniform":
        this.heads(op);
        break;
      case "no_scale":
        this.noScale(op);
        break;
      case "positions":
        this.positions(op);
        break;
      case "bridge":
        this.bridge(op);
        break;
      case "force_prefix":
        this.prefix(op);
        break;
      case "ban":
      case "require": {
        const texts = (Array.isArray(op.text) ? op.text : [op.text]).map((text) => tidy(String(text)));
        if (texts.includes("")) throw bad("text has a blank text", "text");
        this.settled[op.op] = [...this.settled[op.op], ...texts];
        break;
      }
      case "replace_source":
        break;
      default:
        throw bad(`unknown op ${JSON.stringify(op.op)}`, "op");
    }
  }

  private sizes(op: Op): { readonly kind: Kind; readonly layers: number; readonly heads: number } {
    const size = this.model.kinds[op.kind as Kind];
    if (!size) throw bad(`this model (${this.model.shape.arch}) has no ${op.kind} attention`, "kind");
    return { kind: op.kind as Kind, ...size };
  }

  private choose(value: unknown, count: number, field: string): number[] {
    if (value === "*") return Array.from({ length: count }, (_, i) => i);
    const chosen = several(value, field);
    for (const one of chosen) if (one >= count) throw bad(`${field} ${one} does not exist: there are ${field}s ${span(count)}`, field);
    return chosen;
  }

  private seen(kind: Kind, q: number): number {
    return kind === "dec_self" ? q + 1 : this.length;
  }

  private heads(op: Op): void {
    const { kind, layers, heads } = this.sizes(op);
    for (const layer of this.choose(op.layer, layers, "layer"))
      for (const head of this.choose(op.head, heads, "head")) this.head(op, kind, layer, head);
  }

  private head(op: Op, kind: Kind, layer: number, head: number): void {
    const draft = this.edits.draft(kind, layer);
    if (op.op === "mask_head") draft.factors.set(head, 0);
    else if (op.op === "scale_head") {
      const factor = Number(op.factor);
      if (!(Math.abs(factor) <= 1000)) throw bad("factor must be a number between -1000 and 1000", "factor");
      draft.factors.set(head, (draft.factors.get(head) ?? 1) * factor);
    } else if (op.op === "uniform") {
      draft.uniform.add(head);
      for (const [key, row] of draft.rows) if (row.head === head) draft.rows.delete(key);
    } else if (op.op === "mask_edge") {
      const [qs, ks] = [several(op.q, "q"), several(op.k, "k")];
      this.links += qs.length * ks.length;
      if (this.links > MOST_LINKS) throw bad(`more than ${MOST_LINKS} links are masked`, "k");
      for (const q of qs) for (const k of ks) draft.cut.set(`${head}.${q}.${k}`, [head, q, k]);
      for (const q of qs) {
        const keys = this.seen(kind, q);
        if (kind === "enc_self" && q >= keys) continue;
        if (Array.from({ length: keys }, (_, k) => k).every((k) => draft.cut.has(`${head}.${q}.${k}`)))
          throw bad(`position ${q} of ${kind} would lose every key it can look at (${span(keys)})`, "k");
      }
    } else {
      const q = whole(op.q, "q");
      const given = Object.entries((op.weights ?? {}) as Record<string, number>).map(([k, weight]) => [Number(k), Number(weight)] as const);
      const total = given.reduce((sum, [, weight]) => sum + weight, 0);
      if (!(total >= 1e-6)) throw bad("weights must have some above 0", "weights");
      if (!given.some(([k, weight]) => weight > 0 && k < this.seen(kind, q)))
        throw bad(`position ${q} of ${kind} can look at ${span(this.seen(kind, q))}, and no weight above 0 is there`, "weights");
      const weights = given.map(([k, weight]) => [k, weight / total] as const).sort((a, b) => a[0] - b[0]);
      draft.rows.set(`${head}.${q}`, { head, q, weights });
    }
  }

  private noScale(op: Op): void {
    const { kind, layers } = this.sizes(op);
    if (this.model.scoring !== "scaled_dot")
      throw bad("this model's attention does not divide its scores by √d_k, so none can be left out");
    for (let layer = 0; layer < layers; layer++) this.edits.draft(kind, layer).noScale = true;
  }

  private positions(op: Op): void {
    const { placing } = this.model;
    if (placing === null) throw bad("a recurrent model knows the order from reading and has no positions");
    if (placing === "none") throw bad('this model was trained with positions="none" and has none to change');
    const side = { source: "source", encoder: "source", target: "target", decoder: "target" }[String(op.side ?? "source")] as
      | "source"
      | "target"
      | undefined;
    if (!side || !["none", "shuffle", "shift"].includes(String(op.mode)))
      throw bad("mode is none, shuffle or shift, and side source or target", "mode");
    this.edits.positions[side] = {
      mode: op.mode as PositionEdit["mode"],
      seed: whole(op.seed ?? 0, "seed"),
      by: Math.trunc(Number(op.by ?? 0)),
    };
  }

  private bridge(op: Op): void {
    const { shape } = this.model;
    if (shape.arch === "transformer") throw bad("a Transformer has no bridge: its decoder looks at all states of the encoder");
    const lines = String(op.text ?? "")
      .split("\n")
      .map(tidy)
      .filter(Boolean);
    if ((op.mode === "zero") === lines.length > 0) throw bad("mode zero takes no text, mean and swap need one", "text");
    if (op.mode === "swap" && lines.length > 1) throw bad(`text has ${lines.length} lines, and swap takes one`, "text");
    const all = (lines.length > 0 ? lines : ["1"]).map((line) => this.bridgeOf(this.read(line).ids));
    this.edits.bridge = all[0].map((_, i) => (op.mode === "zero" ? 0 : all.reduce((sum, one) => sum + one[i], 0) / all.length));
  }

  private prefix(op: Op): void {
    const { target } = this.model;
    const ids = (op.ids ?? []) as readonly number[];
    if (ids.length === 0) {
      this.settled.prefix = tidy(String(op.text ?? ""));
      return;
    }
    if (ids.some((id) => !(id < target.size) || target.isSpecial(id))) throw bad("an id is no token of a text", "ids");
    const text = tidy(target.decode(ids));
    if (target.encode(text).join() !== ids.join())
      throw bad("this model's tokenizer writes the text of these ids with other ids: give the text", "ids");
    this.settled.prefix = text;
  }
}
