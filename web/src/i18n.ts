/** Words of the page in English and Korean: `t("translate.title")`, `t("shell.heads", { n: 3 })`. */
import { computed, signal } from "@preact/signals";
import { languageName } from "./lib/languages";
import * as bundled from "./messages";
import { fileBeside } from "./local/site";
import { remember, remembered } from "./storage";

export type Locale = "en" | "ko";
type Files = typeof bundled;
type Keys<Name extends keyof Files & string> = `${Name}.${keyof Files[Name] & string}`;
export type MessageKey = { [Name in keyof Files & string]: Keys<Name> }[keyof Files & string];

type Words = Record<string, Record<string, string>>;
/** Paths of the words of each language, told by the build; absent in tests, which bundle the words. */
declare const __WORDS__: Record<Locale, string> | undefined;

const inLanguage = (n: 0 | 1): Words =>
  Object.fromEntries(
    Object.entries(bundled).map(([file, table]) => [
      file,
      Object.fromEntries(Object.entries<readonly [string, string]>(table).map(([key, pair]) => [key, pair[n]])),
    ]),
  );
const tables: Record<Locale, Words> = { en: inLanguage(0), ko: inLanguage(1) };

function first(): Locale {
  const stored = remembered("locale");
  if (stored === "en" || stored === "ko") return stored;
  return typeof navigator !== "undefined" && navigator.language.startsWith("ko") ? "ko" : "en";
}

export const locale = signal<Locale>(first());
/** Number format of the interface, with grouping. */
export const numbers = computed(() => new Intl.NumberFormat(locale.value));

/** Brings the words of a language: from the exported file (`<script type="application/json" id="jumok-words">` with both), else from the server. */
export async function loadWords(wanted: Locale): Promise<void> {
  if (Object.keys(tables[wanted]).length > 0 || typeof __WORDS__ === "undefined") return;
  const inside = document.getElementById("jumok-words");
  if (inside) Object.assign(tables, JSON.parse(inside.textContent ?? "{}"));
  else tables[wanted] = await fileBeside<Words>(__WORDS__[wanted]);
}

export async function setLocale(value: Locale): Promise<void> {
  await loadWords(value);
  locale.value = value;
  remember("locale", value);
}

function find(key: string): string | undefined {
  const dot = key.indexOf(".");
  return tables[locale.value][key.slice(0, dot)]?.[key.slice(dot + 1)];
}

export const hasMessage = (key: string): key is MessageKey => find(key) !== undefined;

/** The message in the current language; `{n}` is replaced by `args.n`, `{n:head|heads}` by the form that fits the number. */
export const t = (key: MessageKey, args?: Args): string => fill(find(key) ?? key, args);

export type Args = Readonly<Record<string, string | number>>;

/** A text with its places filled, as `t` does. */
export function fill(text: string, args: Args = {}): string {
  return text.replace(/\{(\w+)(?::([^|}]*)\|([^}]*))?\}/g, (_, arg: string, one?: string, many?: string) => {
    const value = args[arg];
    if (one !== undefined) return value === 1 ? one : (many ?? "");
    return typeof value === "number" ? numbers.value.format(value) : String(value ?? "");
  });
}

/** A language by its code, in the words of the page; one that is no language stays itself. */
export const languageOf = (code: string): string => languageName(code.replace("_", "-"), locale.value, t("shell.many_languages")) || code;

/** What a model translates, "Korean → English"; as much of it as its codes say. */
export const languagesOf = (card: { readonly source_language: string; readonly target_language: string }): string =>
  [card.source_language, card.target_language]
    .map((code) => languageName(code, locale.value, t("shell.many_languages")))
    .filter(Boolean)
    .join(" → ");
