/** Translation as it is typed: every sentence of the text streamed in turn, older requests cancelled. */
import { useEffect, useState } from "preact/hooks";
import type { ConfidenceOut, HypothesisOut, TermOut } from "../../api-types";
import { epoch, streamTranslation } from "../../api";
import { embedded } from "../../embedded";
import { problemOf, type ApiError } from "../../errors";
import { drawsOf, glossary, model, ops, options, params, sentences } from "../../state";

export interface Live {
  readonly text: string;
  readonly tokens: readonly string[];
  /** number of leading tokens that will not change */
  readonly stable: number;
  readonly sourceTokens: readonly string[];
  readonly done: boolean;
  readonly alternatives: readonly HypothesisOut[];
  /** of the glossary, those that the sentence has */
  readonly terms: readonly TermOut[];
  readonly score: number | null;
  readonly perToken: number | null;
  readonly ms: number | null;
  /** of the finished text, if the model is calibrated */
  readonly confidence: ConfidenceOut | null;
}
const NOTHING: Live = {
  text: "",
  tokens: [],
  stable: 0,
  sourceTokens: [],
  done: false,
  alternatives: [],
  terms: [],
  score: null,
  perToken: null,
  ms: null,
  confidence: null,
};

export interface LiveState {
  /** one entry per sentence of the text */
  readonly results: readonly Live[];
  readonly error: ApiError | null;
  retry(): void;
}

/** Whether the model knows how sure it may be of what it searches; of what it draws at random it does not. */
const calibrated = () => model.value?.confidence === true && (options.value.beam !== undefined || !drawsOf(model.value));

/** Streams the sentences of the address; an edited or given translation is not searched for, so nothing is streamed. */
export function useLive(): LiveState {
  const [results, setResults] = useState<readonly Live[]>([]);
  const [error, setError] = useState<ApiError | null>(null);
  const [turn, setTurn] = useState(0);
  // what the results are of: until the first effect of a new question they are still those of the old one
  const [about, setAbout] = useState<string | null>(null);
  const list = sentences.value;
  const name = model.value?.name ?? null;
  const plain = !embedded && ops.value.length === 0 && !params.value.t;
  const wanted = plain && name && list[0] !== "" ? JSON.stringify([name, list, options.value, glossary.value]) : null;
  useEffect(() => {
    setError(null);
    setAbout(wanted);
    if (wanted === null) return setResults([]);
    const control = new AbortController();
    const patch = (i: number, change: Partial<Live>) => {
      if (!control.signal.aborted)
        setResults((old) => list.map((_, j) => (j === i ? { ...(old[j] ?? NOTHING), ...change } : (old[j] ?? NOTHING))));
    };
    setResults((old) => list.map((_, i) => ({ ...(old[i] ?? NOTHING), done: false })));
    const run = async () => {
      for (let i = 0; i < list.length; i++) {
        const best = Math.min(3, Number(options.value.beam ?? (drawsOf(model.value) || (model.value?.decoding.beam ?? 4)))); // no more than the search keeps
        const body = {
          model: name,
          text: list[i],
          n_best: best,
          sentences: "as-is",
          confidence: calibrated(),
          glossary: glossary.value ?? undefined,
          ...(i === 0 ? options.value : { ...options.value, prefix: undefined }),
        };
        const final = await streamTranslation(body, {
          signal: control.signal,
          start: (event) => patch(i, { sourceTokens: event.source_tokens, tokens: [], stable: 0, confidence: null }),
          partial: (event) => patch(i, { text: event.text, tokens: event.tokens, stable: event.stable }),
        });
        patch(i, {
          text: final.text,
          done: true,
          alternatives: final.alternatives,
          terms: final.terms ?? [],
          score: final.score,
          perToken: final.score_per_token ?? null,
          ms: final.ms,
          confidence: final.confidence ?? null,
        });
      }
    };
    run().catch((problem: unknown) => {
      if (control.signal.aborted) return;
      setError(problemOf(problem));
      setResults((old) => old.map((result) => (result.done ? result : NOTHING))); // what is there is of another text
    });
    return () => control.abort();
  }, [wanted, turn, epoch.value]);
  const now = about === wanted ? results : results.map((result) => ({ ...result, done: false }));
  return { results: now, error, retry: () => setTurn((n) => n + 1) };
}
