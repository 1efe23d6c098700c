/** Tokens as a reader sees them: one box per token, bytes of one character together. */
import type { TraceSide, TraceToken } from "../api-types";

export interface Unit {
  /** what to show */
  readonly text: string;
  /** a space comes before it in the text */
  readonly space: boolean;
  readonly special: boolean;
  readonly unknown: boolean;
  /** tokens it stands for, in order */
  readonly tokens: readonly number[];
  /** how many bytes it joins; 0 for an ordinary token */
  readonly bytes: number;
}

/** Whether a piece of the vocabulary begins with a space, in whatever sign its tokenizer writes it. */
export const beginsWithSpace = (piece: string): boolean => /^[▁Ġ ]/.test(piece);

const hasSpace = (token: TraceToken) => token.i > 0 && beginsWithSpace(token.piece);

/** White space as its sign, and a character that cannot be seen (a joiner, a mark of direction) as its number. */
function visible(text: string): string {
  if (text === "") return "␣";
  if (!/^[\p{Cf}\p{Cc}\p{Z}]+$/u.test(text)) return text;
  return [...text].map((char) => `U+${char.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`).join(" ");
}

function single(token: TraceToken): Unit {
  const text = token.text.trim();
  const byte = token.type === "byte" && token.byte !== undefined;
  const hex = `<${(token.byte ?? 0).toString(16).toUpperCase().padStart(2, "0")}>`;
  return {
    text: byte ? hex : visible(text),
    space: hasSpace(token) && text !== "" && text !== "␣",
    special: token.type === "special" || token.type === "pad",
    unknown: token.type === "unk",
    tokens: [token.i],
    bytes: 0,
  };
}

/** Boxes of a side; byte tokens of one group are one box unless the group is in `open`. */
export function unitsOf(tokens: readonly TraceToken[], open: ReadonlySet<number> = new Set()): Unit[] {
  const units: Unit[] = [];
  let last: number | null = null;
  for (const token of tokens) {
    const group = token.type === "byte" ? (token.group ?? null) : null;
    if (group === null || open.has(group)) {
      units.push(single(token));
    } else if (group === last) {
      const whole = units.pop()!;
      units.push({ ...whole, tokens: [...whole.tokens, token.i], bytes: whole.bytes + 1 });
    } else {
      units.push({ ...single(token), text: token.text || "?", tokens: [token.i], bytes: 1 });
    }
    last = group;
  }
  return units;
}

/** Words of a side as groups of tokens, specials each on their own at their place. */
export function wordUnits(side: TraceSide): Unit[] {
  const isSpecial = (i: number) => side.tokens[i]?.type === "special" || side.tokens[i]?.type === "pad";
  const units: Unit[] = side.words.map((word) => ({
    text: word.text,
    space: true,
    special: word.tokens.every(isSpecial),
    unknown: false,
    tokens: word.tokens,
    bytes: 0,
  }));
  const inWord = new Set(side.words.flatMap((word) => word.tokens));
  for (const token of side.tokens) if (!inWord.has(token.i)) units.push(single(token));
  return units.sort((a, b) => a.tokens[0] - b.tokens[0]);
}

/** Text before token `t` and the candidate in its place: what a forced prefix holds. */
export function prefixBefore(side: TraceSide, t: number, candidate: string): string {
  const points = [...side.text];
  const span = side.tokens[t]?.span;
  let from = span ? span[0] : points.length;
  // a span may begin with the space before its word: it stays
  while (span && from < span[1] && /\s/.test(points[from])) from++;
  return points.slice(0, from).join("") + candidate.trim();
}

/** How far below all others a score is no longer chance, in nats per token: models that are always right are always sure. */
const CLEARLY = 0.05;

/** The score that nearly all answers reach, if this one, which a search has found, is clearly below it; else null. */
export const unsure = (decode: { readonly method: string; readonly score_per_token?: number | null }, low: number | null): number | null =>
  low !== null && decode.method !== "given" && (decode.score_per_token ?? 0) < low - CLEARLY ? low : null;

/** How many characters of a text the model has no token for and reads as bytes or as unknown: it cannot have met them in training. */
export function unseen(side: Pick<TraceSide, "tokens">): {
  readonly unseen: number;
  readonly all: number;
  readonly examples: readonly string[];
} {
  const units = unitsOf(side.tokens).filter((unit) => !unit.special && unit.text !== "␣");
  const strange = units.filter((unit) => unit.unknown || unit.bytes > 0);
  const length = (list: readonly Unit[]) => list.reduce((sum, unit) => sum + (unit.bytes > 0 ? 1 : Math.max(1, [...unit.text].length)), 0);
  return { unseen: length(strange), all: length(units), examples: [...new Set(strange.map((unit) => unit.text))].slice(0, 5) };
}
