/** Texts in, answers out: what /v1/translate and its stream do, in the tab. */
import type { HypothesisOut, TokenOut, TranslationOut } from "../api-types";
import { ApiError } from "../errors";
import { loopEnd } from "./loops";
import { type Answer, LIMITS, type LocalModel, type Phrase, type SearchOptions, withEnd } from "./model";
import { length, points, tidy } from "./text";

/** What a request may ask of a search. */
export interface Asked {
  readonly beam?: number | null;
  readonly n_best?: number | null;
  readonly length_penalty?: number | null;
  readonly max_len?: number | null;
  readonly min_len?: number | null;
  readonly no_repeat_ngram?: number | null;
  readonly loops?: boolean | null;
  readonly sample?: boolean | null;
  readonly mbr?: number | null;
  readonly prefix?: string | null;
  readonly ban?: readonly string[] | null;
  readonly require?: readonly string[] | null;
  readonly glossary?: unknown;
  readonly confidence?: boolean | null;
  readonly to?: string | null;
}

/** Everything that decides the answer to a text. */
export interface Settled {
  readonly beam: number;
  readonly n_best: number;
  readonly length_penalty: number;
  readonly max_len: number;
  readonly min_len: number;
  readonly no_repeat_ngram: number;
  readonly loops: boolean;
  readonly prefix: string;
  readonly ban: readonly string[];
  readonly require: readonly string[];
}

export const onlyServed = (what: string) =>
  new ApiError(422, "needs_server", `${what} is not there on a page without a server: use jumok serve`);
const badField = (field: string, detail: string) => new ApiError(422, "bad_parameter", detail, field);

const within = (field: string, value: number, least: number, most: number, whole = true) => {
  if (typeof value !== "number" || !(value >= least && value <= most) || (whole && !Number.isInteger(value)))
    throw badField(field, `${field} must be a number from ${least} to ${most}`);
  return value;
};

export function settle(model: LocalModel, asked: Asked): Settled {
  if (asked.sample) throw onlyServed("sampling");
  if (asked.mbr) throw onlyServed("mbr");
  if (asked.no_repeat_ngram) throw onlyServed("no_repeat_ngram");
  if (asked.glossary) throw onlyServed("a glossary");
  if (asked.confidence) throw onlyServed("confidence");
  const usual = model.decoding;
  const beam = within("beam", asked.beam ?? usual.beam, 1, LIMITS.beam);
  const most = Math.min(LIMITS.new_tokens, model.placing === "learned" ? model.shape.max_positions : Infinity);
  const texts = (field: "ban" | "require") =>
    (asked[field] ?? []).map(tidy).map((text) => {
      if (text === "") throw badField(field, `${field} has an empty text`);
      return text;
    });
  return {
    beam,
    n_best: within("n_best", asked.n_best ?? Math.min(usual.n_best, beam), 1, beam),
    length_penalty: within("length_penalty", asked.length_penalty ?? usual.length_penalty, 0, 10, false),
    max_len: Math.min(within("max_len", asked.max_len ?? usual.max_len, 1, Math.max(usual.max_len, LIMITS.new_tokens)), most),
    min_len: within("min_len", asked.min_len ?? usual.min_len, 0, LIMITS.new_tokens),
    no_repeat_ngram: 0,
    loops: asked.loops ?? usual.loops ?? false,
    prefix: tidy(asked.prefix ?? ""),
    ban: texts("ban"),
    require: texts("require"),
  };
}

/** The phrase of a text: as it begins, behind a space, and behind a sign. */
function phraseOf(model: LocalModel, text: string): Phrase {
  const sign = model.target.encode("(");
  const behind = [" ", ""].map((space) => model.target.encode(`(${space}${text}`));
  const cut = behind.filter((ids) => sign.every((id, i) => ids[i] === id)).map((ids) => ids.slice(sign.length));
  const seen = new Map([model.target.encode(text), ...cut].filter((ids) => ids.length > 0).map((ids) => [ids.join(" "), ids]));
  return { spellings: [...seen.values()].map((ids) => ({ text: model.target.spell(text), ids })) };
}

/** How a search for these settings goes, of a source with so many tokens. */
export function optionsOf(model: LocalModel, settled: Settled, tokens: number): SearchOptions {
  const { beam, max_len } = settled;
  const prefix = settled.prefix === "" ? [] : model.target.encode(settled.prefix);
  const phrases = settled.require.map((text) => phraseOf(model, text));
  const size = phrases.reduce((sum, phrase) => sum + Math.max(...phrase.spellings.map((one) => one.ids.length)), 0);
  const given = prefix.length + size;
  if (given > 0 && given + 4 > max_len)
    throw badField("max_len", `prefix and required texts have ${given} tokens, and max_len=${max_len} leaves no room`);
  return {
    beam,
    n_best: settled.n_best,
    keep: settled.n_best === 1 ? 1 : beam,
    min_len: settled.min_len,
    length_penalty: settled.length_penalty,
    limit: Math.min(max_len, given + Math.max(3 * tokens + 30, settled.min_len + 1)),
    prefix,
    phrases,
    ban: settled.ban,
    width: Math.max(beam, Math.min(beam + size, 32)),
  };
}

/** A text as the model takes it: its line, its ids, and how many there were before the end was cut off. */
export function read(model: LocalModel, text: string): { readonly line: string; readonly ids: readonly number[]; readonly all: number } {
  if (length(text) > LIMITS.characters) throw new ApiError(422, "too_long", `the text has more than ${LIMITS.characters} characters`);
  const line = tidy(text);
  const ids = model.source.encode(line);
  if (ids.length > LIMITS.tokens)
    throw new ApiError(422, "too_long", `the text has ${ids.length} tokens, and ${LIMITS.tokens} are allowed`);
  const kept = model.source.beginning(ids, model.maxLength);
  return { line: kept.length < ids.length ? model.source.decode(kept) : line, ids: kept, all: ids.length };
}

/** The answers to ids, without what follows a loop, best first. */
export function answersTo(
  model: LocalModel,
  line: string,
  ids: readonly number[],
  settled: Settled,
  more: Partial<SearchOptions> = {},
): Answer[] {
  const found = model.search(ids, { ...optionsOf(model, settled, ids.length), ...more });
  const given = [points(settled.prefix), model.target.encode(settled.prefix), points(line), ids];
  if (settled.loops || settled.require.length > 0 || settled.min_len > 0 || given.some((one) => loopEnd(one) !== null)) return found;
  return found.map((answer) => {
    const end = loopEnd(answer.ids);
    return end === null ? answer : { ids: answer.ids.slice(0, end), logs: answer.logs.slice(0, end), finished: false };
  });
}

export const tokensOf = (model: LocalModel, answer: Answer): TokenOut[] =>
  withEnd(answer).map((id, i) => ({ text: model.target.pieces[id], id, logprob: answer.logs[i] }));

/** The sum with the least rounding. */
export function fsum(values: Iterable<number>): number {
  let [sum, lost] = [0, 0];
  for (const value of values) {
    const next = sum + value;
    lost += Math.abs(sum) >= Math.abs(value) ? sum - next + value : value - next + sum;
    sum = next;
  }
  return sum + lost;
}

function hypotheses(model: LocalModel, answers: readonly Answer[], most: number): HypothesisOut[] {
  const found = new Map<string, HypothesisOut>();
  for (const answer of answers) {
    const text = model.target.decode(answer.ids);
    if (found.has(text) || found.size >= most) continue;
    const tokens = tokensOf(model, answer);
    const score = fsum(answer.logs);
    found.set(text, { text, score, score_per_token: score / Math.max(tokens.length, 1), finished: answer.finished, tokens });
  }
  return [...found.values()];
}

/** The translation of one text; a blank one stays blank. */
export function translate(model: LocalModel, text: string, asked: Asked): TranslationOut {
  const settled = settle(model, asked);
  const { line, ids } = read(model, text);
  const novelty = model.novelty ? { novelty: model.novelty.count(ids) } : {};
  if (line === "") return { text: "", score: 0, score_per_token: 0, finished: true, tokens: [], alternatives: [], ...novelty };
  const [best, ...alternatives] = hypotheses(model, answersTo(model, line, ids, settled), settled.n_best);
  return { ...best, alternatives, ...novelty };
}
