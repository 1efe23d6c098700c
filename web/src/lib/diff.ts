/** What several answers to one sentence have in common, and the words in which they differ. */
import { wordDiff } from "./words";

/** A stretch of a text, in code points, with how many of the others lack it there. */
export interface Mark {
  readonly span: readonly [number, number];
  readonly lacking: number;
}

/** For each text, the stretches that some other text does not have in that place; white space alone is never marked. */
export function differences(texts: readonly string[]): Mark[][] {
  return texts.map((text, i) =>
    marksAgainst(
      text,
      texts.filter((_, j) => j !== i),
    ),
  );
}

/** The stretches of a text that some of `others` do not have in that place. */
export function marksAgainst(text: string, others: readonly string[]): Mark[] {
  const points = [...text];
  const lacking = new Array<number>(points.length).fill(0);
  for (const other of others) {
    let at = 0;
    for (const part of wordDiff(text, other)) {
      if (part.kind === "missing") continue;
      const end = at + [...part.text].length;
      if (part.kind === "added") for (let p = at; p < end; p++) lacking[p]++;
      at = end;
    }
  }
  const marks: Mark[] = [];
  let from = 0;
  for (let p = 1; p <= points.length; p++) {
    if (p < points.length && lacking[p] === lacking[from]) continue;
    const span = trimmed(points, from, p);
    if (lacking[from] > 0 && span) marks.push({ span, lacking: lacking[from] });
    from = p;
  }
  return marks;
}

function trimmed(points: readonly string[], from: number, to: number): [number, number] | null {
  const blank = (p: number) => /^\s$/u.test(points[p]);
  let [start, end] = [from, to];
  while (start < end && blank(start)) start++;
  while (end > start && blank(end - 1)) end--;
  return start < end ? [start, end] : null;
}
