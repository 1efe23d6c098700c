/** One side of a trace for people: its tokens with their places in the text, its words and its units (src/jumok/explain/tokens.py). */
import type { TraceSide, TraceToken, TraceWord } from "../api-types";
import { alone, direction, indent, isSpace, length, nfc, part, points, strip } from "./text";
import { BOS, byteOf, bytesToText, EOS, PAD, SPECIALS, type Tokenizer, UNK } from "./tokenizer";

const SPACE = "␣";
/** Letters, marks and digits of scripts that separate words by spaces. */
const JOINS = /^[\p{L}\p{M}\p{N}]$/u;
const UNSPACED = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]$/u;
const joins = (char: string) => JOINS.test(char) && !UNSPACED.test(char);

/** Tokens that write one stretch of text together: a piece, or the bytes of a character. */
interface Part {
  readonly tokens: readonly number[];
  readonly text: string;
  readonly bytes: readonly number[];
}

function spell(tokenizer: Tokenizer, ids: readonly number[]): Part[] {
  const parts: Part[] = [];
  let run: number[] = [];
  const flush = () => {
    const bytes = run.map((i) => byteOf(tokenizer.pieces[ids[i]])!);
    const text = bytesToText(bytes);
    if (text === null) parts.push(...run.map((i, n) => ({ tokens: [i], text: "\ufffd", bytes: [bytes[n]] })));
    let at = 0;
    for (const char of text ?? "") {
      const size = new TextEncoder().encode(char).length;
      parts.push({ tokens: run.slice(at, at + size), text: char, bytes: bytes.slice(at, at + size) });
      at += size;
    }
    run = [];
  };
  ids.forEach((id, i) => {
    const piece = tokenizer.pieces[id];
    if (byteOf(piece) !== null) run.push(i);
    else if (!tokenizer.isSpecial(id)) {
      flush();
      parts.push({ tokens: [i], text: piece, bytes: [] });
    }
  });
  flush();
  return parts;
}

/** Parts in runs whose letters become syllables together. */
function letterRuns(parts: readonly Part[]): Part[][] {
  const runs: Part[][] = [];
  let text = "";
  for (const one of parts) {
    const joined = (text + one.text).normalize("NFC");
    if (runs.length > 0 && (/^\p{M}/u.test(one.text) || joined !== text + one.text.normalize("NFC"))) {
      runs.at(-1)!.push(one);
      text = joined;
    } else {
      runs.push([one]);
      text = one.text.normalize("NFC");
    }
  }
  return runs;
}

/** What to show for a piece: no leading space, `␣` for a space alone, two hex digits for a byte. */
export function label(piece: string): string {
  const byte = byteOf(piece);
  if (byte !== null) return hex(byte);
  const text = strip(alone(piece.normalize("NFC"))).replace(/\p{Cc}/gu, "\ufffd");
  if (text === "") return SPACE;
  return points(text).some((char) => !/[\p{Mn}\p{Me}\p{Cf}\u1160-\u11ff]/u.test(char)) ? text : `◌${text}`;
}
const hex = (byte: number) => byte.toString(16).toUpperCase().padStart(2, "0");

function startsWord(before: string, piece: string): boolean {
  if (SPECIALS.includes(before) || SPECIALS.includes(piece)) return true;
  const [named, last] = [byteOf(piece), byteOf(before)];
  if (named !== null && named >= 0x80 && named < 0xc0) return false;
  const first = points(piece)[0];
  if (isSpace(first)) return true;
  if (isSpace(before) || /^\p{M}/u.test(first)) return false;
  return !((last !== null || joins(points(before).at(-1)!)) && (named !== null || joins(first)));
}

function wordGroups(pieces: readonly string[]): number[][] {
  const groups: number[][] = [];
  pieces.forEach((piece, i) => {
    if (i > 0 && !startsWord(pieces[i - 1], piece)) groups.at(-1)!.push(i);
    else groups.push([i]);
  });
  return groups;
}

/** The text of pieces side by side; bytes become the characters they spell. */
function textOf(pieces: readonly string[]): string {
  const bytes = pieces.flatMap((piece) => {
    const byte = byteOf(piece);
    return byte === null ? [...new TextEncoder().encode(piece)] : [byte];
  });
  return strip(new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(bytes)).normalize("NFC"));
}

/** The first words of a text: this share of them, rounded to even, at least one. */
export function beginOf(text: string, share: number): string {
  const chars = points(text);
  const groups = wordGroups(chars);
  if (groups.length === 0) return "";
  const wanted = share * groups.length;
  const near = Math.round(wanted);
  const count = Math.max(1, wanted % 1 === 0.5 && near % 2 === 1 ? near - 1 : near);
  return textOf(chars.slice(0, groups[count - 1].at(-1)! + 1));
}

/** The ids with an end, unless they have one. */
export const closed = (ids: readonly number[]): number[] => (ids.includes(EOS) ? [...ids] : [...ids, EOS]);

/** The `source` or `target` object of a trace. Ranges are code points of the text. */
export function sideOf(
  tokenizer: Tokenizer,
  ids: readonly number[],
  given: string,
  lang: string,
  { end, start = false }: { readonly end: boolean; readonly start?: boolean },
): TraceSide {
  const whole = [...(start ? [BOS] : []), ...(end ? closed(ids) : ids)];
  const pieces = whole.map((id) => tokenizer.pieces[id]);
  const parts = spell(tokenizer, whole);
  const runs = tokenizer.jamo ? letterRuns(parts) : parts.map((one) => [one]);
  const texts = runs.map((run) => run.map((one) => one.text).join("")).map((text) => (tokenizer.jamo ? nfc(text) : text));
  const written = texts.join("");
  const text = written === given || written === " " + given ? given : tokenizer.decode(whole);
  const shift = length(text) - length(written);
  const places = new Map<number, Partial<TraceToken>>();
  let [at, group] = [0, 0];
  runs.forEach((run, n) => {
    const to = at + length(texts[n]);
    const span: [number, number] = [Math.max(at + shift, 0), to + shift];
    at = to;
    for (const one of run) {
      one.tokens.forEach((token, i) => {
        const byte = one.bytes.length === one.tokens.length ? one.bytes[i] : undefined;
        const shown = one.text === "\ufffd" && one.bytes.length === 1 ? hex(byte!) : label(one.text);
        places.set(token, byte === undefined ? { span } : { span, byte, group, text: shown });
      });
      if (one.bytes.length > 0) group++;
    }
  });
  const groups = wordGroups(pieces);
  const wordOf = new Map(groups.flatMap((members, word) => members.map((i) => [i, word] as const)));
  const tokens = whole.map((id, i): TraceToken => {
    const type = id >= tokenizer.tags ? "special" : typeOf(id, pieces[i]);
    return { i, id, text: label(pieces[i]), piece: pieces[i], type, span: null, word: wordOf.get(i)!, ...places.get(i) };
  });
  const words = groups.map((members, i): TraceWord => {
    const word = { i, text: textOf(members.map((n) => pieces[n])) || SPACE, tokens: members };
    return tokenizer.isSpecial(whole[members[0]]) ? { ...word, type: "special" } : word;
  });
  return { text, lang, dir: direction(text), tokens, words };
}

function typeOf(id: number, piece: string): TraceToken["type"] {
  if (id < SPECIALS.length) return id === UNK ? "unk" : id === PAD ? "pad" : "special";
  return byteOf(piece) === null ? "normal" : "byte";
}

/** Tokens of a source that stand and fall together. */
export interface Unit {
  readonly text: string;
  readonly tokens: readonly number[];
  readonly span: readonly [number, number];
}

export function unitsOf(side: TraceSide, unit: "words" | "tokens" = "words"): Unit[] {
  const { tokens, words, text } = side;
  const groups =
    unit === "words" ? words.map((word) => [word.text, word.tokens] as const) : tokens.map((token) => [token.text, [token.i]] as const);
  return groups.flatMap(([shown, members]) => {
    const spans = members.map((i) => tokens[i].span).filter((span) => span !== null);
    if (spans.length === 0) return [];
    const begin = spans[0][0];
    const end = spans.at(-1)![1];
    return [{ text: shown, tokens: members, span: [begin + indent(part(text, begin, end)), end] as const }];
  });
}

/** The words of one text, read by several tokenizers, as units that are the same text for all of them. */
export function agreedUnits(sides: readonly TraceSide[]): Unit[][] {
  const all = sides.map((side) => unitsOf(side));
  const ends = all.map((units) => new Set(units.map((unit) => unit.span[1])));
  return all.map((units, n) => {
    const found: Unit[] = [];
    let tokens: number[] = [];
    let begin: number | null = null;
    for (const word of units) {
      tokens = [...tokens, ...word.tokens];
      begin ??= word.span[0];
      if (!ends.every((set) => set.has(word.span[1]))) continue;
      const name = begin === word.span[0] ? word.text : strip(part(sides[n].text, begin, word.span[1]));
      found.push({ text: name, tokens, span: [begin, word.span[1]] });
      [tokens, begin] = [[], null];
    }
    return found;
  });
}
