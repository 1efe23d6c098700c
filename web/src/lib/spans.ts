/** Spans of code points, as Python counts them, in the UTF-16 units of this language. */

/** UTF-16 offset of every code point of the text, and its length at the end. */
export function offsets(text: string): number[] {
  const table: number[] = [];
  let at = 0;
  for (const point of text) {
    table.push(at);
    at += point.length;
  }
  table.push(at);
  return table;
}

/** The UTF-16 range of a span of code points. */
export function toUtf16(table: readonly number[], span: readonly [number, number]): [number, number] {
  const end = table.length - 1;
  const inside = (i: number) => table[Math.max(0, Math.min(end, i))];
  return [inside(span[0]), inside(span[1])];
}

export interface Piece {
  readonly text: string;
  /** indices of the tokens whose span covers it; empty for the text between */
  readonly tokens: readonly number[];
}

/** The text cut at the borders of the spans: every part with the tokens that cover it. Parts joined give the text. */
export function cut(text: string, spans: readonly (readonly [number, number] | null)[]): Piece[] {
  const table = offsets(text);
  const ranges = spans.map((span) => (span ? toUtf16(table, span) : null));
  const borders = new Set([0, text.length]);
  for (const range of ranges) if (range) range.forEach((at) => borders.add(at));
  const sorted = [...borders].sort((a, b) => a - b);
  const pieces: Piece[] = [];
  for (let i = 0; i + 1 < sorted.length; i++) {
    const [from, to] = [sorted[i], sorted[i + 1]];
    const tokens = ranges.flatMap((range, index) => (range && range[0] <= from && range[1] >= to ? [index] : []));
    pieces.push({ text: text.slice(from, to), tokens });
  }
  return pieces;
}
