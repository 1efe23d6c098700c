/** Differences between two short texts, word by word. */

export interface Part {
  readonly kind: "same" | "added" | "missing";
  readonly text: string;
}

const WORD = /\p{Script=Han}|[\p{L}\p{M}]+|\p{N}+|\s+|[^\p{L}\p{M}\p{N}\s]/gu;

/** Words, numbers, spaces and single marks; Chinese characters stand alone. */
export const wordsOf = (text: string): string[] => text.match(WORD) ?? [];

const MOST = 400;

/** What `text` has in common with `wanted`, what it adds, and what it lacks, in reading order. */
export function wordDiff(text: string, wanted: string): Part[] {
  const [a, b] = [wordsOf(text), wordsOf(wanted)];
  if (a.length > MOST || b.length > MOST) return text === wanted ? [{ kind: "same", text }] : [{ kind: "added", text }];
  const width = b.length + 1;
  const common = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      common[i * width + j] =
        a[i] === b[j] ? common[(i + 1) * width + j + 1] + 1 : Math.max(common[(i + 1) * width + j], common[i * width + j + 1]);
  const parts: Part[] = [];
  let [added, missing] = ["", ""];
  const close = () => {
    if (added) parts.push({ kind: "added", text: added });
    if (missing) parts.push({ kind: "missing", text: missing });
    [added, missing] = ["", ""];
  };
  let kept = ""; // a mark or space after a difference: part of it if another difference follows at once
  const settle = (differs: boolean) => {
    if (differs) [added, missing, kept] = [added + kept, missing + kept, ""];
    else close();
    if (kept) same(parts, kept);
    kept = "";
  };
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      const word = a[i++];
      j++;
      if ((added || missing) && !kept && !/[\p{L}\p{N}]/u.test(word)) kept = word;
      else {
        settle(false);
        same(parts, word);
      }
    } else {
      if (kept) settle(true);
      if (i < a.length && (j >= b.length || common[(i + 1) * width + j] >= common[i * width + j + 1])) added += a[i++];
      else missing += b[j++];
    }
  }
  settle(false);
  return parts;
}

function same(parts: Part[], text: string): void {
  const last = parts[parts.length - 1];
  if (last?.kind === "same") parts[parts.length - 1] = { kind: "same", text: last.text + text };
  else parts.push({ kind: "same", text });
}
