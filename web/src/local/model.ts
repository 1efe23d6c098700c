/** A model folder in the tab: its files checked, its tokenizers, its weights in the engine, and the calls of it. */
import type { Card, KindSize } from "../api-types";
import { ApiError } from "../errors";
import { readSafetensors } from "../lib/safetensors";
import { type Arena, double, type Engine, int, long } from "./engine";
import { sha256 } from "./sha256";
import { closed } from "./sides";
import { EOS, Tokenizer } from "./tokenizer";
import { lowestScore, Novelty } from "./usual";
import { loadModel, parameterCount, type Settings, type Shape, shapeOf } from "./weights";

/** The files of a folder by name. */
export type Files = ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
export type Kind = "enc_self" | "dec_self" | "cross";
export const KINDS: readonly Kind[] = ["enc_self", "dec_self", "cross"];
/** As the server's, as far as they mean something here. */
export const LIMITS = { texts: 64, characters: 5000, tokens: 512, beam: 16, n_best: 16, new_tokens: 512, trace_tokens: 128, terms: 0 };
/** States of training sentences, beside a model that has any. */
export const INDEX = "neighbours.safetensors";
/** Most bytes of a folder that is dropped onto the page. */
export const LARGEST = 512 << 20;

const bad = (detail: string) => new ApiError(422, "bad_model", detail);

/** Settings of a search by their names in config.json. */
export interface Decoding {
  readonly beam: number;
  readonly n_best: number;
  readonly length_penalty: number;
  readonly max_len: number;
  readonly min_len: number;
  readonly no_repeat_ngram: number;
  readonly loops?: boolean;
  readonly sample?: boolean;
  readonly mbr?: number;
}
const USUAL: Decoding = { beam: 5, n_best: 1, length_penalty: 1, max_len: 256, min_len: 0, no_repeat_ngram: 0 };

interface ConfigFile {
  readonly model_type?: string;
  readonly shared_vocabulary?: boolean;
  readonly members?: unknown;
  readonly jumok?: {
    readonly model: Settings;
    readonly data?: { readonly source_language?: string; readonly target_language?: string; readonly max_length?: number };
    readonly decoding?: Partial<Decoding>;
  };
}

type Listed = Readonly<Record<string, { readonly size: number; readonly sha256: string }>>;
/** Files that are checked when they are read, and those that nobody here reads. */
const WEIGHTS = ["model.safetensors", "native.safetensors"];
const UNREAD = ["README.md", "optimizer.safetensors", "shortlist.safetensors"];

/** The files that MANIFEST.json lists, with their sizes and hashes. */
function listedIn(files: Files): Listed {
  const manifest = files.get("MANIFEST.json");
  if (!manifest) throw bad("this is no model folder of jumok: it has no MANIFEST.json");
  try {
    const { format_version, files: inside } = JSON.parse(new TextDecoder().decode(manifest));
    if (format_version === 1 && typeof inside === "object" && inside !== null) return inside as Listed;
  } catch {
    // said below
  }
  throw bad("MANIFEST.json is damaged, or of a newer jumok: copy the folder again");
}

function checkFile(listed: Listed, name: string, file: Uint8Array | undefined, hash: string): void {
  if (!file) throw bad(`${name} is missing: copy the folder again from where it was whole`);
  if (file.length !== listed[name].size || hash !== listed[name].sha256)
    throw bad(`${name} is damaged: it is not what was saved. Copy the folder again from where it was whole`);
}

export interface Answer {
  readonly ids: readonly number[];
  readonly logs: readonly number[];
  readonly finished: boolean;
}
export interface Phrase {
  readonly spellings: readonly { readonly text: string; readonly ids: readonly number[] }[];
}
export interface SearchOptions {
  readonly beam: number;
  readonly n_best: number;
  readonly keep: number;
  readonly min_len: number;
  readonly length_penalty: number;
  readonly limit: number;
  readonly prefix?: readonly number[];
  readonly phrases?: readonly Phrase[];
  readonly ban?: readonly string[];
  readonly width?: number;
  /** an address of jm_edits, and one of jm_tree */
  readonly edits?: number;
  readonly tree?: number;
}

/** What a call of the engine says, as a problem. */
function check(code: number, source: readonly number[]): void {
  if (code === 0) return;
  if (code === 1) throw new ApiError(500, "not_finite", "the model's numbers for this text are not finite: the weights are damaged");
  if (code === 2)
    throw new ApiError(422, "too_long", `the model has no learned position for a text of ${source.length} tokens: shorten it`);
  if (code === 3) throw new ApiError(422, "no_memory", "there is not enough memory for this text: shorten it, or choose a smaller beam");
  if (code === 5) throw new ApiError(422, "bad_parameter", "a position would lose every key it can look at: leave it one");
  throw new ApiError(500, "internal", `the engine cannot read this text (code ${code})`);
}

/** The hash of a large file: by the browser where it lets the page. */
async function digest(file: Uint8Array<ArrayBuffer>): Promise<string> {
  if (!globalThis.crypto?.subtle) return sha256(file);
  const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", file));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** What a site says about a model besides its files. */
export interface Notes {
  readonly examples?: readonly string[];
  readonly run?: string | null;
  /** it has states of training sentences */
  readonly indexed?: boolean;
}

export class LocalModel {
  readonly shape: Shape;
  readonly source: Tokenizer;
  readonly target: Tokenizer;
  readonly fingerprint: string;
  readonly decoding: Decoding;
  readonly languages: readonly [string, string];
  readonly maxLength: number;
  readonly dtype: string;
  readonly novelty: Novelty | null;
  readonly weightsHash: string;
  /** of the model in the engine, once it is `ready` */
  handle = 0;
  /** learned positions of the source */
  table: Float32Array | null = null;
  private readonly lowestScore: number | null;
  private readonly parameters: number;
  private readonly listed: Listed;
  private readonly shared: boolean;
  private opening: Promise<void> | null = null;
  private pieces: { readonly texts: Uint8Array; readonly offsets: readonly number[] } | null = null;

  constructor(
    readonly engine: Engine,
    readonly name: string,
    files: Files,
    /** brings a large file of the folder */
    readonly file: (name: string) => Promise<Uint8Array<ArrayBuffer>>,
    private readonly notes: Notes = {},
  ) {
    this.listed = listedIn(files);
    this.fingerprint = sha256(files.get("MANIFEST.json")!);
    for (const name of Object.keys(this.listed))
      if (!WEIGHTS.includes(name) && !UNREAD.includes(name))
        checkFile(this.listed, name, files.get(name), sha256(files.get(name) ?? new Uint8Array()));
    const text = (file: string) => new TextDecoder().decode(files.get(file));
    const config = JSON.parse(text("config.json")) as ConfigFile;
    const own = config.jumok;
    if (config.model_type !== "jumok" || !own?.model) throw bad("this is a model of another program, not of jumok");
    if (files.has("frame.json"))
      throw bad("this model translates in several directions, which a page without a server cannot: use jumok serve");
    if (files.has("source_images.json")) throw bad("this model reads pictures, which a page without a server cannot: use jumok serve");
    this.shape = shapeOf(own.model);
    if (this.shape.copy) throw bad("this model copies from its source, which a page without a server cannot: use jumok serve");
    const tokenizer = (file: string) => new Tokenizer(files.get(file)!, file);
    const shared = files.has("tokenizer.json");
    if (!shared && !(files.has("source_tokenizer.json") && files.has("target_tokenizer.json"))) throw bad("the folder has no tokenizer");
    this.source = tokenizer(shared ? "tokenizer.json" : "source_tokenizer.json");
    this.target = shared ? this.source : tokenizer("target_tokenizer.json");
    this.decoding = { ...USUAL, ...own.decoding };
    this.languages = [own.data?.source_language ?? "", own.data?.target_language ?? ""];
    this.maxLength = own.data?.max_length ?? 256;
    if (!WEIGHTS.some((name) => name in this.listed)) throw bad("the folder has no weights");
    this.dtype = WEIGHTS[0] in this.listed ? "float32" : "int8";
    this.shared = shared;
    this.weightsHash = this.listed[WEIGHTS[Number(this.dtype === "int8")]].sha256;
    this.novelty = Novelty.parse(text("novelty.json"), this.weightsHash);
    this.lowestScore = lowestScore(text("confidence.json"), this.weightsHash);
    this.parameters = parameterCount(this.shape, this.source.size, this.target.size, shared);
  }

  /** Brings the weights, once. */
  ready(): Promise<void> {
    this.opening ??= this.open().catch((error: unknown) => {
      this.opening = null;
      throw error;
    });
    return this.opening;
  }

  private async open(): Promise<void> {
    const packed = this.dtype === "int8";
    const name = WEIGHTS[Number(packed)];
    const file = await this.file(name);
    checkFile(this.listed, name, file, await digest(file));
    const tensors = readSafetensors(file.buffer);
    this.table = (tensors.get(packed ? "source_positions" : "source_positions.table")?.data as Float32Array | undefined) ?? null;
    this.handle = loadModel(this.engine, this.shape, [this.source.size, this.target.size], tensors, { shared: this.shared, packed });
  }

  /** Layers, heads and width of a head for each kind of attention. */
  get kinds(): Partial<Record<Kind, KindSize>> {
    const { arch, encoder_layers, decoder_layers, heads, head_width, width } = this.shape;
    if (arch === "rnn") return {};
    if (arch === "luong") return { cross: { layers: 1, heads: 1, d_head: width } };
    const size = (layers: number) => ({ layers, heads, d_head: head_width });
    return { enc_self: size(encoder_layers), dec_self: size(decoder_layers), cross: size(decoder_layers) };
  }

  get scoring(): Card["score"] {
    const { arch, score, scaled } = this.shape;
    return arch === "rnn" ? null : arch === "luong" ? score : scaled ? "scaled_dot" : "dot";
  }

  get placing(): Card["positions"] {
    return this.shape.arch === "transformer" ? this.shape.positions : null;
  }

  get card(): Card {
    return {
      name: this.name,
      arch: this.shape.arch,
      source_language: this.languages[0],
      target_language: this.languages[1],
      parameters: this.parameters,
      fingerprint: this.fingerprint,
      max_length: this.maxLength,
      positions: this.placing,
      score: this.scoring,
      d_model: this.shape.width,
      kinds: this.kinds,
      decoding: { ...this.decoding, max_len: Math.min(this.decoding.max_len, LIMITS.new_tokens), sample: false, mbr: 0 },
      limits: LIMITS,
      run: this.notes.run ?? null,
      examples: this.notes.examples ?? [],
      context: false,
      source: "text",
      image: null,
      sentences: "as-is",
      confidence: false,
      lowest_score: this.lowestScore,
      neighbours: this.notes.indexed ?? false,
      directions: [],
      languages: [],
      members: [],
    };
  }

  /** The answers to one source, given without its end, best first. */
  search(source: readonly number[], options: SearchOptions, arena?: Arena): Answer[] {
    if (!arena) return this.engine.within((own) => this.search(source, options, own));
    const { engine } = this;
    const ids = closed(source);
    const { limit, prefix = [] } = options;
    const phrased = (options.phrases?.length ?? 0) + (options.ban?.length ?? 0) > 0;
    const beam = phrased ? (options.width ?? options.beam) : options.beam;
    const keep = Math.min(options.keep, beam);
    const batch = [
      int(1),
      int(arena.ints(ids)),
      int(arena.longs([0, ids.length])),
      int(arena.ints([limit])),
      int(prefix.length > 0 ? arena.ints(prefix) : 0),
      int(prefix.length > 0 ? arena.longs([0, prefix.length]) : 0),
      int(0),
      int(0),
      int(phrased ? this.phrases(options, beam, arena) : 0),
      int(options.edits ?? 0),
      int(0),
      int(options.tree ?? 0),
      int(0),
      int(0),
    ];
    const asked = [
      ...[beam, options.n_best, keep, options.min_len, 1, 0].map(int),
      double(options.length_penalty),
      ...[0, 0, 0, 0, 0].map(int),
    ];
    const room = keep * limit;
    const [tokens, logs, lengths, finished, badly] = [4 * room, 4 * room, 4 * keep, 4 * keep, 4].map((size) => arena.zeros(size));
    const answers = arena.struct([tokens, logs, lengths, finished, 0, 0].map(int));
    check(engine.c.jm_search(this.handle, arena.struct(batch), arena.struct(asked), answers, badly), ids);
    const found: Answer[] = [];
    for (let a = 0; a < keep; a++) {
      const length = engine.ints(lengths, keep)[a];
      if (length < 0) continue;
      const ended = engine.ints(finished, keep)[a] !== 0;
      const at = 4 * a * limit;
      found.push({
        ids: [...engine.ints(tokens + at, length)].slice(0, ended ? length - 1 : length),
        logs: [...engine.floats(logs + at, length)],
        finished: ended,
      });
    }
    return found;
  }

  private phrases(options: SearchOptions, width: number, arena: Arena): number {
    const phrases = options.phrases ?? [];
    const spellings = phrases.flatMap((phrase) => phrase.spellings);
    const banned = [...new Set((options.ban ?? []).map((text) => this.target.spell(text)))];
    const texts = [...new Set([...banned, ...spellings.map((one) => one.text)])];
    const bytes = texts.map((text) => new TextEncoder().encode(text));
    this.pieces ??= spelledPieces(this.target);
    return arena.struct([
      long(phrases.length),
      long(spellings.length),
      long(texts.length),
      int(arena.longs([0, phrases.length])),
      int(arena.ints(phrases.map(() => 0).concat(0))),
      int(arena.longs(offsets(phrases.map((phrase) => phrase.spellings.length)))),
      int(arena.ints([...spellings.flatMap((one) => one.ids), 0])),
      int(arena.longs(offsets(spellings.map((one) => one.ids.length)))),
      int(arena.ints([...spellings.map((one) => texts.indexOf(one.text)), 0])),
      int(arena.bytes(bytes.flatMap((one) => [...one]))),
      int(arena.longs(offsets(bytes.map((one) => one.length)))),
      int(arena.bytes(this.pieces.texts)),
      int(arena.longs(this.pieces.offsets)),
      int(arena.ints([width])),
      int(options.beam),
      int(banned.length),
      double(4),
    ]);
  }

  /** log P of each target token for every source; the target is given whole. The sources have no end. */
  score(sources: readonly (readonly number[])[], target: readonly number[], edits = 0, arena?: Arena): Float32Array[] {
    if (!arena) return this.engine.within((own) => this.score(sources, target, edits, own));
    if (target.length === 0) return sources.map(() => new Float32Array());
    const all = sources.map((source) => closed(source));
    const count = all.length * target.length;
    const batch = this.given(arena, all, edits, 0);
    const [targets, ends, logs, badly] = [
      arena.ints(all.flatMap(() => [...target])),
      arena.longs(offsets(all.map(() => target.length))),
      arena.zeros(4 * count),
      arena.zeros(4),
    ];
    check(this.engine.c.jm_score(this.handle, batch, targets, ends, 1, logs, badly), all[0]);
    return all.map((_, i) => this.engine.floats(logs + 4 * i * target.length, target.length).slice());
  }

  /** A batch of sources with their ends, for scores. */
  given(arena: Arena, sources: readonly (readonly number[])[], edits: number, recording: number): number {
    return arena.struct(
      [
        sources.length,
        arena.ints(sources.flat()),
        arena.longs(offsets(sources.map((ids) => ids.length))),
        0,
        0,
        0,
        0,
        0,
        0,
        edits,
        recording,
        0,
      ].map(int),
    );
  }

  /** `jm_score` of one pair with a recording; the target is given whole. */
  record(arena: Arena, source: readonly number[], target: readonly number[], edits: number, recording: number): void {
    const batch = this.given(arena, [source], edits, recording);
    const logs = arena.zeros(4 * target.length);
    check(this.engine.c.jm_score(this.handle, batch, arena.ints(target), arena.longs([0, target.length]), 1, logs, arena.zeros(4)), source);
  }
}

/** Where each of these begins if they lie end to end, and where all end. */
function offsets(lengths: readonly number[]): number[] {
  const begins = [0];
  for (const size of lengths) begins.push(begins.at(-1)! + size);
  return begins;
}

/** What each id writes into a text, end to end; special ids write nothing. */
function spelledPieces(tokenizer: Tokenizer): { readonly texts: Uint8Array; readonly offsets: readonly number[] } {
  const encoder = new TextEncoder();
  const all = tokenizer.pieces.map((piece, id) => {
    if (tokenizer.isSpecial(id)) return new Uint8Array();
    return id < 260 ? Uint8Array.of(id - 4) : encoder.encode(piece);
  });
  const begins = offsets(all.map((piece) => piece.length));
  const texts = new Uint8Array(begins.at(-1)!);
  all.forEach((piece, id) => texts.set(piece, begins[id]));
  return { texts, offsets: begins };
}

export const withEnd = (answer: Answer): number[] => (answer.finished ? [...answer.ids, EOS] : [...answer.ids]);
