/** Two columns of a test set, and which of its mistakes are asked for. */
import type { MistakesDocument, WrongLinePart } from "../api-types";

export type MistakeKind = keyof MistakesDocument["kinds"];
export const MISTAKES: readonly MistakeKind[] = ["wrong", "omitted", "added", "moved", "repeated"];
export type Cause = NonNullable<WrongLinePart["cause"]>;

export interface TestPair {
  readonly source: string;
  readonly reference: string;
}
export interface Columns {
  readonly pairs: readonly TestPair[];
  /** lines that have text, but no second column, from 1 */
  readonly odd: readonly number[];
}

const cellsOf = (line: string, comma: boolean): string[] => {
  if (line.includes("\t")) return line.split("\t");
  if (line.includes(" ||| ")) return line.split(" ||| ");
  if (!comma) return [line];
  return [...line.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)].map(([, cell]) =>
    cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell,
  );
};

/** Source and reference of each line: columns apart by a tab, ` ||| `, or where no line has either, a comma. */
export function columnsOf(text: string): Columns {
  const lines = text
    .replace(/^\ufeff/, "")
    .normalize("NFC")
    .split(/\r\n?|\n/);
  const comma = !lines.some((line) => line.includes("\t") || line.includes(" ||| "));
  const pairs: TestPair[] = [];
  const odd: number[] = [];
  lines.forEach((line, i) => {
    const [source = "", reference = ""] = cellsOf(line, comma).map((cell) => cell.trim());
    if (source && reference) pairs.push({ source, reference });
    else if (line.trim()) odd.push(i + 1);
  });
  return { pairs, odd };
}

/** What is shown of all mistakes. */
export interface Filter {
  readonly kind?: MistakeKind;
  readonly cause?: Cause;
  readonly word?: string;
  /** shortest source of a bin */
  readonly lo?: number;
}

/** The length of a source as the bins count it. */
export const lengthOf = (source: string, unit: MistakesDocument["unit"]): number => {
  const words = source.trim().split(/\s+/).filter(Boolean);
  return unit === "source_words" ? words.length : [...words.join(" ").normalize("NFC")].length;
};

/** The lines that fit a filter, those with the most mistakes first. */
export function shownLines(found: MistakesDocument, { kind, cause, word, lo }: Filter): readonly WrongLinePart[] {
  const lines = word === undefined ? null : new Set(found.words.find((one) => one.word === word)?.lines);
  const at = found.lengths.findIndex((part) => part.lo === lo);
  const within = (source: string) => {
    if (lo === undefined || at < 0) return true;
    const length = lengthOf(source, found.unit);
    const { hi } = found.lengths[at];
    return (length >= lo || at === 0) && (hi === null || length <= hi);
  };
  const count = (line: WrongLinePart) => Object.values(line.kinds).reduce((sum, n) => sum + n, 0);
  return found.lines
    .filter(
      (line) => (!kind || line.kinds[kind]) && (!cause || line.cause === cause) && (!lines || lines.has(line.line)) && within(line.source),
    )
    .toSorted((a, b) => count(b) - count(a) || a.line - b.line);
}

/** Work in parts of at most `most`: a part that is refused as too large is halved. Stops at an error. */
export async function inParts<A, B>(
  items: readonly A[],
  most: number,
  work: (part: readonly A[]) => Promise<readonly B[]>,
  tooLarge: (error: unknown) => boolean,
  done: (count: number) => void = () => {},
): Promise<B[]> {
  const found: B[] = [];
  let size = Math.max(1, most);
  while (found.length < items.length) {
    const part = items.slice(found.length, found.length + size);
    try {
      found.push(...(await work(part)));
    } catch (error) {
      if (!tooLarge(error) || part.length === 1) throw error;
      size = Math.floor(part.length / 2);
    }
    done(found.length);
  }
  return found;
}
