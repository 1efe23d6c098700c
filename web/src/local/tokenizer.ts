/** Text to ids and back, as src/jumok/text/tokenizer.py does it: byte-pair tokens, characters or words, with bytes for everything else. */
import { ApiError } from "../errors";
import { nfc, points, tidy, toJamo } from "./text";

export const [BOS, PAD, EOS, UNK] = [0, 1, 2, 3];
export const SPECIALS = ["<s>", "<pad>", "</s>", "<unk>"];
const FIRST_BYTE = SPECIALS.length;
const FIRST = FIRST_BYTE + 256;
const WHITE = "\\t-\\r\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
/** What no token crosses, by the pattern in the file. */
const PATTERNS: Readonly<Record<string, RegExp>> = {
  " ?\\p{L}[\\p{L}\\p{M}]*| ?\\p{N}| ?[^\\s\\p{L}\\p{N}]+|\\s+": new RegExp(
    ` ?\\p{L}[\\p{L}\\p{M}]*| ?\\p{N}| ?[^${WHITE}\\p{L}\\p{N}]+|[${WHITE}]+`,
    "gu",
  ),
  " ?\\S+": new RegExp(` ?[^${WHITE}]+|[${WHITE}]+`, "gu"),
};

/** The file of a tokenizer, as far as it is read. */
interface Form {
  readonly format?: string;
  readonly added_tokens: readonly { readonly content: string }[];
  readonly pre_tokenizer: { readonly pattern: { readonly Regex: string } } | null;
  readonly jamo?: boolean;
  readonly model: {
    readonly vocab: Readonly<Record<string, number>>;
    readonly merges: readonly (readonly [string, string])[];
    readonly ignore_merges: boolean;
  };
}

const foreign = (detail: string) => new ApiError(422, "bad_model", detail);

export class Tokenizer {
  readonly pieces: readonly string[];
  readonly jamo: boolean;
  /** ids of tokens that no text has: from here to the end */
  readonly tags: number;
  private readonly ids: ReadonlyMap<string, number>;
  private readonly ranks: ReadonlyMap<string, number>;
  private readonly pattern: RegExp | null;
  private readonly whole: boolean;

  constructor(file: Uint8Array, name: string) {
    const form = JSON.parse(new TextDecoder().decode(file)) as Form;
    if (form.format?.startsWith("jumok-pieces/"))
      throw foreign(`${name} cuts texts as another program does, which a page without a server cannot: use jumok serve`);
    const vocabulary = Object.entries(form.model?.vocab ?? {});
    this.ids = new Map(vocabulary);
    const pieces: string[] = [];
    for (const [piece, id] of vocabulary) pieces[id] = piece;
    const asked = form.pre_tokenizer?.pattern.Regex;
    if (pieces[BOS] !== SPECIALS[BOS] || pieces[FIRST - 1] !== "<0xFF>" || (asked !== undefined && !PATTERNS[asked]))
      throw foreign(`${name} is not a tokenizer of jumok`);
    this.pieces = pieces;
    this.pattern = asked === undefined ? null : PATTERNS[asked];
    this.whole = form.model.ignore_merges;
    this.jamo = form.jamo === true;
    this.tags = pieces.length - (form.added_tokens.length - SPECIALS.length);
    this.ranks = new Map(form.model.merges.map(([left, right], rank) => [`${left}\n${right}`, rank]));
  }

  get size(): number {
    return this.pieces.length;
  }

  isSpecial(id: number): boolean {
    return id < SPECIALS.length || id >= this.tags;
  }

  id(piece: string): number | undefined {
    return this.ids.get(piece);
  }

  /** The ids of a text, without special ids. */
  encode(text: string): number[] {
    const spelled = this.spell(text);
    if (spelled === "") return [];
    if (this.pattern === null) return this.merged(spelled);
    return (" " + spelled).match(this.pattern)!.flatMap((word) => this.merged(word));
  }

  /** A text in the characters that tokens are made of. */
  spell(text: string): string {
    const clean = this.whole ? tidy(text) : nfc(text);
    return this.jamo ? toJamo(clean) : clean;
  }

  private merged(word: string): number[] {
    const known = this.whole ? this.ids.get(word) : undefined;
    if (known !== undefined) return [known];
    const parts = points(word).flatMap((one) =>
      this.ids.has(one) ? [one] : [...new TextEncoder().encode(one)].map((byte) => this.pieces[FIRST_BYTE + byte]),
    );
    for (;;) {
      let [best, at] = [Infinity, -1];
      for (let i = 0; i + 1 < parts.length; i++) {
        const rank = this.ranks.get(`${parts[i]}\n${parts[i + 1]}`) ?? Infinity;
        if (rank < best) [best, at] = [rank, i];
      }
      if (at < 0) return parts.map((piece) => this.ids.get(piece)!);
      parts.splice(at, 2, parts[at] + parts[at + 1]);
    }
  }

  /** The text of ids; special ids are dropped, bytes that are no character become U+FFFD. */
  decode(ids: readonly number[]): string {
    let text = "";
    let run: number[] = [];
    const flush = () => {
      text += bytesToText(run) ?? "\ufffd".repeat(run.length);
      run = [];
    };
    for (const id of ids) {
      if (this.isSpecial(id)) continue;
      if (id < FIRST) run.push(id - FIRST_BYTE);
      else {
        flush();
        text += this.pieces[id];
      }
    }
    flush();
    if (this.pattern !== null) text = text.replace(/^ /, "");
    return this.jamo ? nfc(text) : text;
  }

  /** The first ids of a text that is too long, without the bytes of a character that would go on behind them. */
  beginning(ids: readonly number[], most: number): number[] {
    let end = most;
    while (end > 0 && end < ids.length && ids[end] >= FIRST_BYTE + 0x80 && ids[end] < FIRST_BYTE + 0xc0) end--;
    return ids.slice(0, end);
  }
}

/** Bytes as text; null where they are none. */
export function bytesToText(bytes: readonly number[]): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(bytes));
  } catch {
    return null;
  }
}

/** The byte that a piece stands for by name, such as "<0xEA>"; null of a piece that is text. */
export const byteOf = (piece: string): number | null => (/^<0x[0-9A-F]{2}>$/.test(piece) ? Number.parseInt(piece.slice(3, 5), 16) : null);
