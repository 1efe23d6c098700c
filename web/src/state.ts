/** What the whole page shares. The address is the state: everything a link must reproduce lives in `params`. */
import type { Op, TraceDraft } from "./lib/interventions";
import { batch, computed, effect, signal } from "@preact/signals";
import type { Card, KindSize } from "./api-types";
import { epoch, getModels, getSentences } from "./api";
import { embedded } from "./embedded";
import { locale } from "./i18n";
import { dateIn, readsDates } from "./lib/dates";
import { hashed } from "./local/site";
import { problemOf, type ApiError } from "./errors";
import { decodeOps, encodeOps, formatAddress, parseAddress, type Address, type Params, type Screen } from "./lib/link";
import { chosenDirection } from "./lib/directions";
import { parseGlossary } from "./lib/glossary";
import { isPicture } from "./lib/picture";
import { strays } from "./lib/teach";
import { linesOf, mayHaveSeveral } from "./lib/sentences";
import { remember, remembered } from "./storage";

// ---------------------------------------------------------------- address

function readAddress(): Address {
  if (!hashed) return parseAddress(location.pathname, location.search);
  const [path, search = ""] = location.hash.slice(1).split("?");
  return parseAddress(path, search);
}

/** Screen, rest of the path and parameters as the address has them. */
export const route = signal<Address>(readAddress());
export const screen = computed(() => route.value.screen);
export const params = computed(() => route.value.params);

addEventListener(hashed ? "hashchange" : "popstate", () => (route.value = readAddress()));

export type Patch = Readonly<Record<string, string | number | null | undefined>>;

function patched(current: Params, patch: Patch): Params {
  const next: Record<string, string> = { ...current };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null || value === undefined || value === "") delete next[key];
    else next[key] = String(value);
  }
  return next;
}

function show(address: Address, push: boolean): void {
  if (strays(route.value, address)) return;
  const text = (hashed ? "#" : "") + formatAddress(address);
  if (push) history.pushState(null, "", text);
  else history.replaceState(null, "", text);
  route.value = address;
}

/** Changes parameters; null, undefined and "" remove one. `push` makes a history entry: for deliberate acts, not for hover and sliders. */
export function setParams(patch: Patch, { push = false } = {}): void {
  const next = patched(params.value, patch);
  if (formatAddress({ ...route.value, params: next }) === formatAddress(route.value)) return;
  show({ ...route.value, params: next }, push);
}

/** Goes to a screen; parameters stay unless `patch` changes them. */
export function go(to: Screen, patch: Patch = {}, rest = ""): void {
  show({ screen: to, rest, params: patched(params.value, patch) }, true);
}

/** The address of a screen with the present parameters, for `href`. */
export function href(to: Screen, patch: Patch = {}, rest = ""): string {
  return (hashed ? "#" : "") + formatAddress({ screen: to, rest, params: patched(params.value, patch) });
}

/** `onClick` of a link made with `href`: moves within the page, leaves Ctrl-click and the like to the browser. */
export function follow(event: MouseEvent): void {
  const link = (event.currentTarget as HTMLElement).closest("a");
  if (!link || event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  const [path, search = ""] = (link.getAttribute("href") ?? "/").replace(/^#/, "").split("?");
  show(parseAddress(path, search), true);
}

// ---------------------------------------------------------------- models, text, interventions

/** Cards of the loaded models; null until the server has answered. */
export const models = signal<readonly Card[] | null>(null);
export const modelsError = signal<ApiError | null>(null);

export async function loadModels(): Promise<void> {
  try {
    const cards = await getModels();
    batch(() => {
      models.value = cards;
      modelsError.value = null;
    });
  } catch (error) {
    modelsError.value = problemOf(error);
  }
}
effect(() => {
  epoch.value; // again whenever the server comes back
  void loadModels();
});

/** The model of the address, else the first with attention, one that reads the visitor's language before others, else the first. */
export const model = computed<Card | null>(() => {
  const cards = models.value ?? [];
  const visitor = (typeof navigator === "undefined" || locale.value === "ko" ? locale.value : navigator.language).split("-")[0];
  const attending = cards.filter((card) => card.arch === "transformer");
  const preferred = attending.find((card) => card.source_language === visitor) ?? attending[0] ?? cards[0] ?? null;
  return cards.find((card) => card.name === params.value.m) ?? preferred;
});

/** What the address asks for and the server cannot give: a model that is not loaded, or one that has changed since the link was made. */
export const linkProblem = computed<"model" | "fingerprint" | "part" | null>(() => {
  const { m, f } = params.value;
  if (!models.value || models.value.length === 0) return null;
  if (m && !models.value.some((card) => card.name === m)) return "model";
  if (f && model.value && !shortPrint(model.value).startsWith(f)) return "fingerprint";
  return missingPart.value ? "part" : null;
});
/** The kind, layer or head of the address that the model does not have. */
export const missingPart = computed<string | null>(() => {
  const { k, l, h } = params.value;
  const kinds: Readonly<Record<string, KindSize | undefined>> = model.value?.kinds ?? {};
  if ((screen.value !== "attention" && screen.value !== "inside") || Object.keys(kinds).length === 0) return null;
  const size = kinds[k ?? "cross"];
  if (!size) return `k=${k}`;
  const beyond = (text: string | undefined, most: number) => text !== undefined && !(Number(text) >= 1 && Number(text) <= most);
  if (beyond(l, size.layers)) return `l=${l}`;
  return beyond(h, size.heads) && !/^(mean|max|rollout)$/.test(h!) ? `h=${h}` : null;
});
const shortPrint = (card: Card) => card.fingerprint.replace(/^sha256:/, "").slice(0, 12);

/** Whether the model reads pictures: a source is then a data URL. */
export const seesPictures = computed(() => model.value?.source === "image");
/** Texts to begin with, the first in the visitor's language where that can be known: what the model's folder names, in an exported file what it holds. */
export const examples = computed<readonly string[]>(() => {
  const card = model.value;
  if (!card || embedded || !readsDates(card)) return card?.examples ?? [];
  const visitor = typeof navigator === "undefined" || locale.value === "ko" ? locale.value : navigator.language;
  return [...new Set([dateIn(visitor), ...card.examples])];
});
/** The whole source: that of the address if the model can read it, else the model's first example. */
export const source = computed(() => {
  const given = params.value.s;
  return given !== undefined && (given.trim() === "" || !model.value || isPicture(given) === seesPictures.value)
    ? given
    : (examples.value[0] ?? "");
});
/** From which language into which, where the model has several: that of the address, else its first; null for a model of one. */
export const direction = computed(() => chosenDirection(model.value, params.value.d));
/** The same as fields of a request. */
export const languages = computed<Readonly<Record<string, string>>>((): Readonly<Record<string, string>> => {
  const chosen = direction.value;
  return chosen ? { to: chosen.target, from_language: chosen.source } : ({} as Record<string, string>);
});

/** What the server said about the last text that may have several sentences in a line. */
const split = signal<readonly string[]>([""]);
const several = computed(() => {
  const card = model.value;
  return !embedded && !seesPictures.value && card !== null && mayHaveSeveral(source.value, card.sentences, card.max_length);
});
effect(() => {
  const text = source.value;
  const name = model.value?.name;
  if (!several.value || !name) return;
  const control = new AbortController();
  getSentences({ model: name, text, ...languages.value }, control.signal)
    .catch(() => linesOf(text)) // a text beyond the limits: the translation says so
    .then((found) => {
      if (!control.signal.aborted) split.value = found.length > 0 ? found : linesOf(text);
    });
  return () => control.abort();
});
/** Until the server has said where the sentences of a new text end, they are those of the text before. */
export const sentences = computed<readonly string[]>(() => {
  if (embedded || seesPictures.value) return [source.value.trim()];
  return several.value ? split.value : linesOf(source.value);
});
/** Which sentence of the text is drawn, from 0. */
export const sentenceIndex = computed(() => Math.max(0, Math.min(sentences.value.length - 1, Number(params.value.i) || 0)));
export const sentence = computed(() => sentences.value[sentenceIndex.value] ?? "");

/** Interventions of the address; `badLink` says that it holds something unreadable. */
const decoded = computed(() => decodeOps(params.value.w ?? ""));
export const ops = computed<readonly Op[]>(() => decoded.value ?? []);
export const badLink = computed(() => decoded.value === null);
export function setOps(next: readonly Op[]): void {
  setParams({ w: encodeOps(next), pin: next.length > 0 ? params.value.pin && "edit" : null }, { push: true });
}
export const addOp = (op: Op) => setOps([...ops.value, op]);
/** Whether the What-if drawer is open. */
export const whatIfOpen = signal(false);

/** Whether the panel that makes a link for a class is open. */
export const teachOpen = signal(false);
/** Whether the address is a step of such a link: its model, text and screen stay. */
export const taught = computed(() => params.value.teach !== undefined);
effect(() => {
  const root = document.documentElement;
  root.toggleAttribute("data-teach", taught.value);
  root.toggleAttribute("data-only", params.value.alone !== undefined);
});

/** Settings of the search that an address may hold: parameter, option of the API, kind. */
const OPTIONS = [
  ["b", "beam", Number],
  ["lp", "length_penalty", Number],
  ["ml", "max_len", Number],
  ["px", "prefix", String],
] as const;

/** Settings of the search in the address, as options of the API. */
export const options = computed<Readonly<Record<string, string | number>>>(() => {
  const found: Record<string, string | number> = { ...languages.value };
  for (const [key, option, read] of OPTIONS) {
    const text = params.value[key];
    if (text === undefined) continue;
    const value = read(text);
    if (!Number.isNaN(value)) found[option] = value;
  }
  return found;
});

/** The glossary of the address, as the API takes it; null without one. */
export const glossary = computed(() => parseGlossary(params.value.g ?? ""));

/** Among how many draws a model chooses its answers, if its folder says so; 0 for one that searches. */
export const drawsOf = (card: Card | null): number => Number(card?.decoding.mbr ?? 0);

/** The question every model screen asks: one sentence, its settings and interventions (none where the baseline is pinned); null without model or text. */
export const traceRequest = computed<TraceDraft | null>(() => {
  if (!model.value || sentence.value.trim() === "") return null;
  const request = {
    model: model.value.name,
    text: sentence.value,
    interventions: params.value.pin === "base" ? [] : ops.value,
    ...options.value,
  };
  return params.value.t ? { ...request, target: params.value.t } : request;
});

/** The address of this very view, with all that it takes for granted: model, its fingerprint and the text. */
export function permalink(more: Patch = {}): string {
  const card = model.value;
  const own = card && aboutText(screen.value) ? { m: card.name, s: source.value, f: shortPrint(card) } : {};
  const full = patched(params.value, { ...own, ...more });
  return new URL((hashed ? "#" : "") + formatAddress({ ...route.value, params: full }), location.href).href;
}
/** The address of this view inside an exported file, which holds one sentence. */
export function exportedView(): string {
  const own = { m: model.value?.name, s: sentence.value, i: null, f: null, tour: null, le: null, t: null, px: null };
  return formatAddress({ ...route.value, params: patched(params.value, own) });
}
/** Whether a screen is about one model and one text. */
const aboutText = (name: Screen) => !["documents", "training", "quality", "learn", "docs", "compare"].includes(name);

// ---------------------------------------------------------------- looks

export type Theme = "system" | "light" | "dark";
export type Density = "comfortable" | "compact";
export const theme = signal<Theme>((remembered("theme") as Theme | null) ?? "system");
export const density = signal<Density>((remembered("density") as Density | null) ?? "comfortable");
const system = matchMedia("(prefers-color-scheme: dark)");
const systemDark = signal(system.matches);
system.addEventListener("change", () => (systemDark.value = system.matches));
/** Whether the page is dark now; pictures on canvas read it. */
export const dark = computed(() => (theme.value === "system" ? systemDark.value : theme.value === "dark"));

effect(() => {
  remember("theme", theme.value);
  remember("density", density.value);
  document.documentElement.dataset.theme = theme.value;
  document.documentElement.dataset.density = density.value;
});
