/** The C engine (src/jumok/native/c/jumok.h) as WebAssembly: memory, structures and calls. Addresses are numbers of 32 bits. */
import { ApiError } from "../errors";

type Int = "i" | "l" | "f" | "d";
/** Fields of a structure in order: int32 or an address, int64, float, double. */
type Fields = readonly (readonly [Int, number])[];
const SIZES: Readonly<Record<Int, number>> = { i: 4, l: 8, f: 4, d: 8 };

interface Exports {
  readonly memory: WebAssembly.Memory;
  _initialize(): void;
  malloc(size: number): number;
  free(at: number): void;
  jm_version(): number;
  jm_packed_f32(rows: number, columns: number): number;
  jm_packed_i8(rows: number, columns: number): number;
  jm_pack_f32(from: number, rows: number, columns: number, to: number): number;
  jm_model_new(config: number, tensors: number, count: number, error: number, size: number): number;
  jm_model_free(model: number): void;
  jm_search(model: number, batch: number, options: number, answers: number, bad: number): number;
  jm_score(model: number, batch: number, targets: number, offsets: number, threads: number, logs: number, bad: number): number;
  jm_record_at(model: number, recording: number, S: number, T: number, part: number, kind: number, layer: number): bigint;
  jm_attentions(model: number): number;
}

const noMemory = () => new ApiError(422, "no_memory", "the page has not enough memory for this: take a shorter text or a smaller model");

export class Engine {
  private constructor(readonly c: Exports) {}

  static async open(code: BufferSource): Promise<Engine> {
    const zero = () => 0; // a clock that the engine asks for where it has threads
    const { instance } = await WebAssembly.instantiate(code, { wasi_snapshot_preview1: { clock_time_get: zero } });
    const c = instance.exports as unknown as Exports;
    c._initialize();
    return new Engine(c);
  }

  /** The mark of the source that the engine was built from. */
  get version(): string {
    return this.text(this.c.jm_version());
  }

  bytes(at: number, size: number): Uint8Array {
    return new Uint8Array(this.c.memory.buffer, at, size);
  }
  floats(at: number, count: number): Float32Array {
    return new Float32Array(this.c.memory.buffer, at, count);
  }
  ints(at: number, count: number): Int32Array {
    return new Int32Array(this.c.memory.buffer, at, count);
  }
  text(at: number): string {
    const all = new Uint8Array(this.c.memory.buffer, at);
    return new TextDecoder().decode(all.slice(0, all.indexOf(0)));
  }

  /** Memory that begins at a multiple of 64; `free` takes the first of the two. */
  room(size: number): readonly [number, number] {
    const at = this.c.malloc(size + 64) >>> 0;
    if (at === 0) throw noMemory();
    return [at, Math.ceil(at / 64) * 64];
  }

  /** Calls `work` with memory that is given back behind it. */
  within<R>(work: (arena: Arena) => R): R {
    const arena = new Arena(this);
    try {
      return work(arena);
    } catch (error) {
      if (error instanceof RangeError || error instanceof WebAssembly.RuntimeError) throw noMemory();
      throw error;
    } finally {
      arena.close();
    }
  }
}

/** Memory for one call. */
export class Arena {
  private readonly held: number[] = [];
  constructor(private readonly engine: Engine) {}

  room(size: number): number {
    const [at, from] = this.engine.room(size);
    this.held.push(at);
    return from;
  }
  zeros(size: number): number {
    const at = this.room(size);
    this.engine.bytes(at, size).fill(0);
    return at;
  }
  ints(values: ArrayLike<number>): number {
    const at = this.room(4 * values.length);
    this.engine.ints(at, values.length).set(values);
    return at;
  }
  floats(values: ArrayLike<number>): number {
    const at = this.room(4 * values.length);
    this.engine.floats(at, values.length).set(values);
    return at;
  }
  longs(values: readonly number[]): number {
    const at = this.room(8 * values.length);
    new BigInt64Array(this.engine.c.memory.buffer, at, values.length).set(values.map(BigInt));
    return at;
  }
  bytes(values: ArrayLike<number>): number {
    const at = this.room(values.length + 1);
    this.engine.bytes(at, values.length).set(values);
    return at;
  }
  text(value: string): number {
    return this.bytes([...new TextEncoder().encode(value), 0]);
  }
  /** Structures end to end. */
  structs(all: readonly Fields[]): number {
    const widest = Math.max(4, ...all.flatMap((fields) => fields.map(([kind]) => SIZES[kind])));
    const sizes = all.map((fields) => {
      let end = 0;
      for (const [kind] of fields) end = Math.ceil(end / SIZES[kind]) * SIZES[kind] + SIZES[kind];
      return Math.ceil(end / widest) * widest;
    });
    const at = this.zeros(Math.max(...sizes, 0) * all.length || 1);
    const view = new DataView(this.engine.c.memory.buffer);
    all.forEach((fields, n) => {
      let place = at + n * sizes[0];
      for (const [kind, value] of fields) {
        place = Math.ceil(place / SIZES[kind]) * SIZES[kind];
        if (kind === "i") view.setInt32(place, value, true);
        else if (kind === "l") view.setBigInt64(place, BigInt(value), true);
        else if (kind === "f") view.setFloat32(place, value, true);
        else view.setFloat64(place, value, true);
        place += SIZES[kind];
      }
    });
    return at;
  }
  struct(fields: Fields): number {
    return this.structs([fields]);
  }
  close(): void {
    for (const at of this.held) this.engine.c.free(at);
  }
}

export const int = (value: number | boolean) => ["i", Number(value)] as const;
export const long = (value: number) => ["l", value] as const;
export const float = (value: number) => ["f", value] as const;
export const double = (value: number) => ["d", value] as const;
