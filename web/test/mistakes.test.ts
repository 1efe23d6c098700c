/** Pasted columns, what is shown of mistakes, and work in parts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { MistakesDocument } from "../src/api-types";
import { columnsOf, inParts, lengthOf, shownLines } from "../src/lib/mistakes";

test("columns are told apart by a tab, by bars, or by a comma where there is neither", () => {
  assert.deepEqual(columnsOf("a\tb\n\nc\td\textra\n"), {
    pairs: [
      { source: "a", reference: "b" },
      { source: "c", reference: "d" },
    ],
    odd: [],
  });
  assert.deepEqual(columnsOf("\ufeffa, b ||| c\r\nlonely"), { pairs: [{ source: "a, b", reference: "c" }], odd: [2] });
  assert.deepEqual(columnsOf('"May 5, 2024",2024-05-05\n"say ""no""",x'), {
    pairs: [
      { source: "May 5, 2024", reference: "2024-05-05" },
      { source: 'say "no"', reference: "x" },
    ],
    odd: [],
  });
  assert.deepEqual(columnsOf("May 5, 2024\t2024-05-05").pairs, [{ source: "May 5, 2024", reference: "2024-05-05" }]);
  assert.deepEqual(columnsOf(" \n\n"), { pairs: [], odd: [] });
  assert.deepEqual(columnsOf("a\t\n\tb").odd, [1, 2]);
});

const line = (n: number, source: string, kinds: MistakesDocument["kinds"], cause: "search" | "model" | null = null) => ({
  line: n,
  source,
  reference: "r",
  hypothesis: "h",
  kinds,
  cause,
});
const found: MistakesDocument = {
  schema: "mistakes/1",
  n: 4,
  kinds: { wrong: 3, moved: 2 },
  causes: { search: 1, model: 1 },
  unit: "source_characters",
  lengths: [
    { lo: 3, hi: 4, n: 2, wrong: 2, kinds: { wrong: 1, moved: 2 } },
    { lo: 5, hi: null, n: 2, wrong: 1, kinds: { wrong: 2 } },
  ],
  words: [{ word: "r", times: 4, missed: 3, extra: 0, instead: [], lines: [0, 3] }],
  lines: [line(0, "abc", { wrong: 1 }, "search"), line(2, "ab", { moved: 2 }, "model"), line(3, "abcdef", { wrong: 2 })],
  cut: 0,
};

test("a filter shows the lines that fit it, the worst first", () => {
  const numbers = (filter: Parameters<typeof shownLines>[1]) => shownLines(found, filter).map((one) => one.line);
  assert.deepEqual(numbers({}), [2, 3, 0]);
  assert.deepEqual(numbers({ kind: "wrong" }), [3, 0]);
  assert.deepEqual(numbers({ cause: "model" }), [2]);
  assert.deepEqual(numbers({ word: "r" }), [3, 0]);
  assert.deepEqual(numbers({ lo: 3 }), [2, 0]); // what is shorter than the first bin is in it
  assert.deepEqual(numbers({ lo: 5 }), [3]);
  assert.deepEqual(numbers({ kind: "moved", lo: 5 }), []);
});

test("lengths are those of the bins", () => {
  assert.equal(lengthOf("  a  b ", "source_words"), 2);
  assert.equal(lengthOf("  a  b ", "source_characters"), 3);
  assert.equal(lengthOf("가", "source_characters"), 1);
});

test("a part that is too large is halved; other errors stop the work", async () => {
  const sizes: number[] = [];
  const work = async (part: readonly number[]) => {
    if (part.length > 3) throw new Error("large");
    sizes.push(part.length);
    return part.map((n) => n * 2);
  };
  const large = (error: unknown) => (error as Error).message === "large";
  assert.deepEqual(await inParts([1, 2, 3, 4, 5, 6, 7], 6, work, large), [2, 4, 6, 8, 10, 12, 14]);
  assert.deepEqual(sizes, [3, 3, 1]);
  await assert.rejects(() => inParts([1, 2, 3, 4], 4, work, () => false), /large/);
});
