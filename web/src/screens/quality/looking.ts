/** Looking for mistakes: a test set translated, scored and told apart; kept while the page is open. */
import { signal } from "@preact/signals";
import type { Card, EvalDocument, MistakesDocument } from "../../api-types";
import { findMistakes, scorePairs, translate } from "../../api";
import { ApiError, problemOf } from "../../errors";
import { inParts, type TestPair } from "../../lib/mistakes";

export interface Looking {
  readonly model: string;
  readonly all: number;
  readonly done: number;
  readonly scoring: boolean;
  readonly found: MistakesDocument | null;
  readonly error: ApiError | null;
}

/** What was pasted, and what became of it. */
export const pasted = signal("");
export const looking = signal<Looking | null>(null);
let control = new AbortController();

const PART = 16;
const tooLarge = (error: unknown) => error instanceof ApiError && error.code === "too_large";

/** Translates the pairs in parts, asks how likely answers and references are, and tells the mistakes apart. */
export async function look(card: Card, pairs: readonly TestPair[]): Promise<void> {
  control.abort();
  control = new AbortController();
  const { signal: stop } = control;
  const show = (patch: Partial<Looking>) => {
    if (!stop.aborted && looking.value) looking.value = { ...looking.value, ...patch };
  };
  looking.value = { model: card.name, all: pairs.length, done: 0, scoring: false, found: null, error: null };
  const model = card.name;
  const most = Math.min(PART, card.limits.texts ?? PART);
  try {
    const answers = await inParts(
      pairs,
      most,
      async (part) => (await translate({ model, texts: part.map((pair) => pair.source), sentences: "as-is" }, stop)).results,
      tooLarge,
      (done) => show({ done }),
    );
    show({ scoring: true });
    const lines = pairs.map((pair, i) => ({ ...pair, hypothesis: answers[i].text }));
    const wrong = lines.map((_, i) => i).filter((i) => lines[i].hypothesis !== lines[i].reference);
    const scored = (text: (i: number) => string) =>
      inParts(
        wrong.filter((i) => text(i) !== ""),
        most,
        async (part) => {
          const body = { model, sources: part.map((i) => lines[i].source), targets: part.map(text) };
          const results = await scorePairs(body, stop);
          return results.map((one, n) => [part[n], { score: one.score, tokens: one.tokens.length }] as const);
        },
        tooLarge,
      ).then((all) => new Map(all));
    const own = await scored((i) => lines[i].hypothesis);
    const theirs = await scored((i) => lines[i].reference);
    const body = {
      lines: lines.map((line, i) => ({ ...line, ...(own.has(i) ? { score: own.get(i), reference_score: theirs.get(i) } : {}) })),
      length_penalty: Number(card.decoding.length_penalty ?? 1),
    };
    show({ found: await findMistakes(body, stop), scoring: false });
  } catch (problem) {
    show({ error: problemOf(problem), scoring: false });
  }
}

export function leave(): void {
  control.abort();
  looking.value = null;
}

/** The mistakes of a stored evaluation: those that it counted, else those of the answers that it kept. */
export async function mistakesOf(doc: EvalDocument, signal: AbortSignal): Promise<MistakesDocument> {
  if (doc.mistakes) return doc.mistakes;
  const kept = [...new Map((doc.examples ?? []).map((one) => [one.line, one])).values()];
  return findMistakes({ lines: kept.map(({ source, reference, hypothesis }) => ({ source, reference, hypothesis })) }, signal);
}
