/** Words of the page in English and Korean: `t("translate.title")`, `t("shell.heads", { n: 3 })`. */
import { computed, signal } from "@preact/signals";
import * as messages from "./messages";
import { remember, remembered } from "./storage";

export type Locale = "en" | "ko";
type Files = typeof messages;
type Keys<Name extends keyof Files & string> = `${Name}.${keyof Files[Name]["en"] & string}`;
export type MessageKey = { [Name in keyof Files & string]: Keys<Name> }[keyof Files & string];

function first(): Locale {
  const stored = remembered("locale");
  if (stored === "en" || stored === "ko") return stored;
  return typeof navigator !== "undefined" && navigator.language.startsWith("ko") ? "ko" : "en";
}

export const locale = signal<Locale>(first());
/** Number format of the interface, with grouping. */
export const numbers = computed(() => new Intl.NumberFormat(locale.value));

export function setLocale(value: Locale): void {
  locale.value = value;
  remember("locale", value);
}

/** The message in the current language; `{n}` is replaced by `args.n`, `{n:head|heads}` by the form that fits the number. */
export function t(key: MessageKey, args: Readonly<Record<string, string | number>> = {}): string {
  const [file, ...rest] = key.split(".");
  const table = (messages as unknown as Record<string, Record<Locale, Record<string, string>>>)[file];
  const text = table?.[locale.value]?.[rest.join(".")] ?? key;
  return text.replace(/\{(\w+)(?::([^|}]*)\|([^}]*))?\}/g, (_, arg: string, one?: string, many?: string) => {
    const value = args[arg];
    if (one !== undefined) return value === 1 ? one : (many ?? "");
    return typeof value === "number" ? numbers.value.format(value) : String(value ?? "");
  });
}
