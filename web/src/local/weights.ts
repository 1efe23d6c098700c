/** A model's weights as the engine names and packs them: src/jumok/native/weights.py and folder.py. */
import { ApiError } from "../errors";
import type { Tensor } from "../lib/safetensors";
import { Arena, type Engine, float, int } from "./engine";

/** The settings of a model as its folder has them. */
export interface Settings {
  readonly arch: "rnn" | "luong" | "transformer";
  readonly width: number;
  readonly tied?: boolean;
  readonly layers?: number;
  readonly cell?: "rnn" | "gru" | "lstm";
  readonly bidirectional?: boolean;
  readonly score?: "dot" | "general" | "concat";
  readonly input_feeding?: boolean;
  readonly encoder_layers?: number;
  readonly decoder_layers?: number;
  readonly heads?: number;
  readonly feedforward?: number;
  readonly norm?: "post" | "pre" | "none";
  readonly residual?: boolean;
  readonly scaled?: boolean;
  readonly positions?: "sinusoidal" | "learned" | "rotary" | "none" | "relative";
  readonly max_positions?: number;
  readonly buckets?: number;
  readonly max_distance?: number;
  readonly activation?: "relu" | "gelu" | "gelu_tanh" | "silu";
  readonly gated?: boolean;
  readonly rms_norm?: boolean;
  readonly norm_epsilon?: number;
  readonly head_width?: number;
  readonly embedding_norm?: boolean;
  readonly embedding_scaled?: boolean;
  readonly logits_bias?: boolean;
  readonly projection?: "merged" | "split";
  readonly copy?: boolean;
}
/** The same with every default of src/jumok/architectures.py filled in. */
export type Shape = Required<Settings>;

export function shapeOf(given: Settings): Shape {
  const transformer = given.arch === "transformer";
  const layers = given.layers ?? 1;
  const heads = given.heads ?? 8;
  return {
    tied: true,
    layers,
    cell: "gru",
    bidirectional: given.arch === "luong",
    score: "general",
    input_feeding: false,
    encoder_layers: transformer ? 6 : layers,
    decoder_layers: transformer ? 6 : layers,
    heads,
    feedforward: 2048,
    norm: "post",
    residual: true,
    scaled: true,
    positions: "sinusoidal",
    max_positions: 1024,
    buckets: 32,
    max_distance: 128,
    activation: "relu",
    gated: false,
    rms_norm: false,
    norm_epsilon: 1e-5,
    embedding_norm: false,
    embedding_scaled: true,
    logits_bias: false,
    projection: "merged",
    copy: false,
    ...given,
    head_width: given.head_width || given.width / heads,
  };
}

type Form = "matrix" | "transposed" | "heads" | "vector" | "table";
interface Part {
  readonly name: string;
  readonly rows: number;
  readonly columns: number;
  readonly weight: string;
  readonly bias?: string;
  readonly form?: Form;
}

function layout(c: Shape, source: number, target: number): Part[] {
  const D = c.width;
  const parts: Part[] = [
    { name: "target_embedding", rows: target, columns: D, weight: "target_embedding.weight" },
    { name: "source_embedding", rows: source, columns: D, weight: "source_embedding.weight" },
    {
      name: "output",
      rows: target,
      columns: D,
      weight: c.tied ? "target_embedding.weight" : "output.weight",
      bias: c.arch === "transformer" && c.logits_bias ? "logits_bias" : undefined,
    },
  ];
  return [...parts, ...(c.arch === "transformer" ? transformer(c) : recurrent(c))];
}

function transformer(c: Shape): Part[] {
  const [D, A, F] = [c.width, c.heads * c.head_width, c.feedforward];
  const parts: Part[] = [];
  const table = (name: string, rows: number, columns: number, weight: string) => parts.push({ name, rows, columns, weight, form: "table" });
  const norm = (name: string, stored: string) => {
    for (const kind of c.rms_norm ? ["weight"] : ["weight", "bias"])
      parts.push({ name: `${name}.${kind}`, rows: 1, columns: D, weight: `${stored}.${kind}`, form: "vector" });
  };
  const linear = (layer: string, name: string, rows: number, columns: number, stored: string, form: Form = "matrix") =>
    parts.push({ name: `${layer}.${name}`, rows, columns, weight: `${layer}.${stored}.weight`, bias: `${layer}.${stored}.bias`, form });
  const projection = (layer: string, name: string, count: number, stored: string) =>
    c.projection === "split" ? linear(layer, name, count * A, D, stored, "heads") : linear(layer, name, count * A, D, `${stored}.linear`);
  for (const side of c.positions === "learned" ? ["source", "target"] : [])
    table(`${side}_positions`, c.max_positions, D, `${side}_positions.table`);
  for (const name of c.positions === "relative" ? ["encoder_bias", "decoder_bias"] : []) table(name, c.buckets, c.heads, `${name}.weight`);
  for (const name of c.embedding_norm ? ["source_norm", "target_norm"] : []) norm(name, name);
  for (const side of ["encoder", "decoder"] as const) {
    const crosses = side === "decoder";
    for (let n = 0; n < c[`${side}_layers`]; n++) {
      const layer = `${side}.${n}`;
      projection(layer, "qkv", 3, "attention.project");
      linear(layer, "out", D, A, "attention.output.linear");
      if (crosses) {
        projection(layer, "cross_q", 1, "cross.project_query");
        projection(layer, "cross_kv", 2, "cross.project_memory");
        linear(layer, "cross_out", D, A, "cross.output.linear");
      }
      for (const name of c.gated ? ["inner", "gate"] : ["inner"]) linear(layer, name, F, D, `feedforward.${name}`);
      linear(layer, "outer", D, F, "feedforward.outer");
      const branches = crosses ? ["attention", "cross", "feedforward"] : ["attention", "feedforward"];
      if (c.norm !== "none") branches.forEach((branch, i) => norm(`${layer}.norm${i + 1}`, `${layer}.add_${branch}.norm`));
    }
  }
  for (const side of c.norm === "pre" ? ["encoder", "decoder"] : []) norm(`${side}.norm`, `${side}_norm`);
  return parts;
}

function recurrent(c: Shape): Part[] {
  const D = c.width;
  const G = { rnn: 1, gru: 3, lstm: 4 }[c.cell];
  const both = c.bidirectional ? 2 : 1;
  const cell = (name: string, stored: string, layer: string, rows: number, wide: number, width: number): Part[] =>
    (
      [
        ["input", "ih", wide],
        ["hidden", "hh", width],
      ] as const
    ).map(([side, key, columns]) => ({
      name: `${name}.${side}`,
      rows,
      columns,
      weight: `${stored}.weight_${key}_${layer}`,
      bias: `${stored}.bias_${key}_${layer}`,
    }));
  const parts: Part[] = [];
  for (let n = 0; n < c.layers; n++)
    for (let d = 0; d < both; d++)
      parts.push(...cell(`encoder.${n}.${d}`, "encoder.cell", `l${n}${d ? "_reverse" : ""}`, (G * D) / both, D, D / both));
  for (let n = 0; n < c.layers; n++)
    parts.push(...cell(`decoder.${n}`, "decoder", `l${n}`, G * D, c.arch === "luong" && c.input_feeding && n === 0 ? 2 * D : D, D));
  if (c.arch !== "luong") return parts;
  for (const name of { dot: [], general: ["w_a"], concat: ["w_query", "w_memory"] }[c.score])
    parts.push({ name: `attention.${name}`, rows: D, columns: D, weight: `attention.${name}`, form: "transposed" });
  if (c.score === "concat") parts.push({ name: "attention.v_a", rows: 1, columns: D, weight: "attention.v_a", form: "vector" });
  parts.push({ name: "attention.w_c", rows: D, columns: 2 * D, weight: "attention.w_c.weight" });
  return parts;
}

/** How many numbers a model has; what is tied or shared counts once. */
export function parameterCount(c: Shape, source: number, target: number, shared: boolean): number {
  const sizes = new Map<string, number>();
  for (const part of layout(c, source, target)) {
    if (shared && part.weight === "source_embedding.weight") continue;
    sizes.set(part.weight, part.rows * part.columns);
    if (part.bias) sizes.set(part.bias, part.rows);
  }
  return [...sizes.values()].reduce((sum, size) => sum + size, 0);
}

const wrong = (detail: string) => new ApiError(422, "wrong_weights", `the weights do not fit the model's settings: ${detail}`);
const padded = (count: number) => Math.ceil(count / 16) * 16;
const index = (names: readonly string[], name: string) => names.indexOf(name);

/** W (rows, columns) of a part, as it stands in a state dict. */
function matrixOf(part: Part, { data }: Tensor, c: Shape): Float32Array {
  const from = data as Float32Array;
  const { rows, columns } = part;
  if (part.form !== "transposed" && part.form !== "heads") return from;
  const out = new Float32Array(from.length);
  const head = c.head_width; // (parts, H, K, d) -> (parts, H, d, K)
  const wide = part.form === "heads" ? head : rows;
  for (let block = 0; block < rows / wide; block++)
    for (let k = 0; k < columns; k++)
      for (let n = 0; n < wide; n++) out[(block * wide + n) * columns + k] = from[(block * columns + k) * wide + n];
  return out;
}

/** A model in the engine: packed parts that stay where they are. Numbers of `tensors` are those of model.safetensors, or of native.safetensors. */
export function loadModel(
  engine: Engine,
  c: Shape,
  [source, target]: readonly [number, number],
  tensors: ReadonlyMap<string, Tensor>,
  { shared, packed }: { readonly shared: boolean; readonly packed: boolean },
): number {
  const arena = new Arena(engine); // never closed: the model reads it
  const known = new Map<string, { data: number; scale: number }>();
  const need = (name: string, size: number): Tensor => {
    const found = tensors.get(name);
    if (!found) throw wrong(`${name} is missing`);
    if (found.data.length !== size) throw wrong(`${name} has ${found.data.length} numbers, not ${size}`);
    if (found.data instanceof Float32Array && !found.data.every(Number.isFinite)) throw wrong(`${name} has numbers that are not finite`);
    return found;
  };
  const row = (name: string, rows: number, size: number): number => {
    const values = new Float32Array(padded(rows));
    values.set(need(name, size).data);
    return arena.floats(values);
  };
  const place = (part: Part): { data: number; scale: number } => {
    const size = part.rows * part.columns;
    if (part.form === "vector" || part.form === "table")
      return { data: arena.floats(need(packed ? part.name : part.weight, size).data), scale: 0 };
    if (packed) {
      const codes = need(`${part.name}.codes`, engine.c.jm_packed_i8(part.rows, part.columns)).data;
      return { data: arena.bytes(codes), scale: row(`${part.name}.scale`, part.rows, padded(part.rows)) };
    }
    const stored = tensors.has(part.weight) || !shared ? part.weight : part.weight.replace("source_", "target_");
    const matrix = matrixOf(part, need(tensors.has(stored) ? stored : stored.replace("target_", "source_"), size), c);
    return engine.within((own) => {
      const data = arena.room(engine.c.jm_packed_f32(part.rows, part.columns));
      if (engine.c.jm_pack_f32(own.floats(matrix), part.rows, part.columns, data))
        throw wrong(`${part.weight} has numbers that are not finite`);
      return { data, scale: 0 };
    });
  };
  const parts = layout(c, source, target);
  const fields = parts.map((part) => {
    const once = part.weight === "source_embedding.weight" && shared ? "target_embedding.weight" : part.weight;
    const found = known.get(once) ?? place(part);
    known.set(once, found);
    const bias = !part.bias ? 0 : packed ? row(`${part.name}.bias`, part.rows, padded(part.rows)) : row(part.bias, part.rows, part.rows);
    return [
      int(arena.text(part.name)),
      int(packed && found.scale !== 0),
      int(part.rows),
      int(part.columns),
      int(found.data),
      int(found.scale),
      int(bias),
    ];
  });
  const error = arena.zeros(512);
  const model = engine.c.jm_model_new(arena.struct(configOf(c, source, target)), arena.structs(fields), fields.length, error, 512);
  if (model === 0) throw wrong(engine.text(error) || "there is not enough memory");
  return model;
}

function configOf(c: Shape, source: number, target: number) {
  const deep = c.arch === "transformer";
  const when = (value: number | boolean) => int(deep ? value : 0);
  return [
    int(index(["rnn", "luong", "transformer"], c.arch)),
    int(c.width),
    when(c.heads),
    when(c.feedforward),
    int(deep ? c.encoder_layers : c.layers),
    int(deep ? c.decoder_layers : c.layers),
    int(source),
    int(target),
    when(index(["post", "pre", "none"], c.norm)),
    when(c.residual),
    when(c.scaled),
    when(index(["sinusoidal", "learned", "rotary", "none", "relative"], c.positions)),
    when(c.positions === "learned" ? c.max_positions : 0),
    int(deep ? 0 : index(["rnn", "gru", "lstm"], c.cell)),
    int(deep ? false : c.bidirectional),
    int(c.arch === "luong" ? index(["dot", "general", "concat"], c.score) : 0),
    int(c.arch === "luong" && c.input_feeding),
    when(index(["relu", "gelu", "gelu_tanh", "silu"], c.activation)),
    when(c.gated),
    when(c.rms_norm),
    when(c.head_width),
    when(c.embedding_norm),
    when(c.logits_bias),
    when(c.positions === "relative" ? c.buckets : 0),
    when(c.positions === "relative" ? c.max_distance : 0),
    float(deep ? c.norm_epsilon : 0),
    float(deep && c.embedding_scaled ? Math.sqrt(c.width) : 1),
  ];
}
