/** The conversation: questions and their answers as they come, and the settings that draw them. It lasts as long as the page. */
import { computed, signal } from "@preact/signals";
import { streamTranslation } from "../../api";
import { problemOf, type ApiError } from "../../errors";
import type { Card } from "../../api-types";
import type { TraceDraft } from "../../lib/interventions";
import type { Params } from "../../lib/link";
import { isPicture } from "../../lib/picture";
import { model, params, seesPictures, setParams } from "../../state";

/** How an answer is found: drawn by chance, or searched for. */
export interface Settings {
  readonly sample: boolean;
  readonly temperature: number;
  /** draw from so many of the best tokens; 0 for all */
  readonly topK: number;
  /** draw from the best tokens of this probability together */
  readonly topP: number;
  readonly seed: number;
  /** hypotheses of a search */
  readonly beam: number;
}

export const USUAL = { temperature: 0.8, topK: 0, topP: 0.9, seed: 1 } as const;

/** A number of the address inside its bounds, else the usual one. */
function read(text: string | undefined, usual: number, least: number, most: number, whole = false): number {
  const value = Number(text);
  return text === undefined || !(value >= least && value <= most) || (whole && !Number.isInteger(value)) ? usual : value;
}

export function settingsOf(address: Params, card: Card | null): Settings {
  return {
    sample: address.dm !== "search",
    temperature: read(address.tp, USUAL.temperature, 0.01, 100),
    topK: read(address.tk, USUAL.topK, 0, 1_000_000, true),
    topP: read(address.pp, USUAL.topP, 0.001, 1),
    seed: read(address.sd, USUAL.seed, 0, 2 ** 53, true),
    beam: read(address.b, Number(card?.decoding.beam ?? 4), 1, 16, true),
  };
}

/** The settings as parameters of the address; what is usual is left out. */
function paramsOf({ sample, temperature, topK, topP, seed, beam }: Settings, card: Card | null) {
  const unless = (value: number, usual: number) => (value === usual ? null : value);
  return {
    dm: sample ? null : "search",
    tp: sample ? unless(temperature, USUAL.temperature) : null,
    tk: sample ? unless(topK, USUAL.topK) : null,
    pp: sample ? unless(topP, USUAL.topP) : null,
    sd: sample ? unless(seed, USUAL.seed) : null,
    b: sample ? null : unless(beam, Number(card?.decoding.beam ?? 4)),
  };
}

function requestOf(name: string, text: string, { sample, ...one }: Settings, cut: boolean): TraceDraft {
  const how = sample
    ? { sample, temperature: one.temperature, top_k: one.topK, top_p: one.topP, seed: one.seed }
    : { sample, beam: one.beam };
  return { model: name, text, ...how, long: cut ? "cut" : "error" };
}

export interface Turn {
  readonly key: string;
  readonly request: TraceDraft;
  readonly settings: Settings;
  readonly text: string;
  readonly state: "running" | "done" | "stopped" | "failed";
  readonly error: ApiError | null;
  readonly perToken: number | null;
  readonly ms: number | null;
}

export const turns = signal<readonly Turn[]>([]);
const running = new Map<string, AbortController>();

/** The exchange that the address names: what it asks, how, of which model. */
export const asked = computed(() => {
  const text = params.value.s?.trim();
  if (!text || !model.value || seesPictures.value || isPicture(text)) return null;
  const settings = settingsOf(params.value, model.value);
  const request = requestOf(model.value.name, text, settings, params.value.lg === "cut");
  return { key: JSON.stringify(request), request, settings };
});
export const chosen = computed(() => turns.value.find((turn) => turn.key === asked.value?.key) ?? null);

/** Makes an exchange the one of the address; `follow` then asks it if that has not been done. */
export function choose(text: string, settings: Settings, { cut = false, card = model.value } = {}): void {
  setParams(
    { m: card?.name, s: text, lg: cut ? "cut" : null, ...paramsOf(settings, card), t: null, px: null, i: null, q: null, j: null, w: null },
    { push: true },
  );
}

/** The settings with the first seed that has not answered this yet: who asks again wants another answer. */
export function unasked(text: string, settings: Settings, { cut = false, card = model.value } = {}): Settings {
  const keys = new Set(turns.value.map((turn) => turn.key));
  let next = settings;
  while (next.sample && keys.has(JSON.stringify(requestOf(card?.name ?? "", text, next, cut)))) next = { ...next, seed: next.seed + 1 };
  return next;
}

/** Asks what the address names, unless the conversation has it. */
export function follow(): void {
  const now = asked.value;
  if (now && !turns.value.some((turn) => turn.key === now.key)) void ask(now);
}

const patch = (key: string, change: Partial<Turn>) =>
  (turns.value = turns.value.map((turn) => (turn.key === key ? { ...turn, ...change } : turn)));

export async function ask({ key, request, settings }: Pick<Turn, "key" | "request" | "settings">): Promise<void> {
  const control = new AbortController();
  running.set(key, control);
  const fresh: Turn = { key, request, settings, text: "", state: "running", error: null, perToken: null, ms: null };
  turns.value = turns.value.some((turn) => turn.key === key)
    ? turns.value.map((turn) => (turn.key === key ? fresh : turn))
    : [...turns.value, fresh];
  try {
    const final = await streamTranslation(request, { signal: control.signal, partial: (event) => patch(key, { text: event.text }) });
    patch(key, { text: final.text, state: "done", perToken: final.score_per_token ?? null, ms: final.ms });
  } catch (error) {
    patch(key, control.signal.aborted ? { state: "stopped" } : { state: "failed", error: problemOf(error) });
  } finally {
    running.delete(key);
  }
}

export const stop = (key: string) => running.get(key)?.abort();

/** Takes one exchange, or all, out of the conversation. */
export function forget(key?: string): void {
  for (const turn of turns.value) if (key === undefined || turn.key === key) stop(turn.key);
  turns.value = key === undefined ? [] : turns.value.filter((turn) => turn.key !== key);
  if (!chosen.value) setParams({ s: null, q: null, j: null, lg: null }, { push: true });
}
