/** Dates as people write them, made on the spot: what a model of dates is to read, and the answer. */
import { uniform } from "./chance";
import { range } from "./range";

/** Whether a model reads dates: what it reads is then called so. */
export const readsDates = (card: { readonly target_language: string } | null): boolean => card?.target_language === "iso8601";

export interface WrittenDate {
  readonly text: string;
  readonly iso: string;
  readonly lang: string;
}

const LANGUAGES = ["ko", "en", "de", "sv", "fr", "ja", "nl", "es"] as const;

/** A date in full in the language of a visitor ("en-GB"), as far as models of dates are sure to know it, else in English. */
export function dateIn(tag: string): string {
  const lang = LANGUAGES.find((one) => one === tag.toLowerCase().split("-")[0]) ?? "en";
  return new Intl.DateTimeFormat(lang, { dateStyle: "full", timeZone: "UTC" }).format(new Date(Date.UTC(1998, 2, 24)));
}

/** So many dates from 1950 to 2049, in one language after the other, in its long form. */
export function writtenDates(count: number, seed: number): WrittenDate[] {
  const draw = uniform(seed);
  return range(count).map((n) => {
    const day = new Date(Date.UTC(1950, 0, 1 + Math.floor(draw() * 36_500)));
    const lang = LANGUAGES[n % LANGUAGES.length];
    const text = new Intl.DateTimeFormat(lang, { dateStyle: "long", timeZone: "UTC" }).format(day);
    return { text, iso: day.toISOString().slice(0, 10), lang };
  });
}

const MONTHS = "January February March April May June July August September October November December".split(" ");
const WEEKDAYS = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday".split(" ");

const two = (n: number) => String(n).padStart(2, "0");

/** English forms of a moment, each a text and its answer. */
function forms(at: Date) {
  const day = `${MONTHS[at.getUTCMonth()]} ${at.getUTCDate()}, ${at.getUTCFullYear()}`;
  const full = `${WEEKDAYS[at.getUTCDay()]}, ${day}`;
  const [hour, minute, second] = [at.getUTCHours(), at.getUTCMinutes(), at.getUTCSeconds()];
  const half = hour < 12 ? "AM" : "PM";
  const iso = at.toISOString();
  return {
    day: { text: day, iso: iso.slice(0, 10) },
    full: { text: full, iso: iso.slice(0, 10) },
    time: { text: `${full} at ${hour % 12 || 12}:${two(minute)} ${half}`, iso: iso.slice(0, 16) },
    exact: { text: `${full} at ${hour % 12 || 12}:${two(minute)}:${two(second)} ${half}`, iso: iso.slice(0, 19) },
  };
}

/** Whole dates of growing length with their true answers, `each` of every form: from "March 3, 2085" to a stretch between two exact times. */
export function grownDates(seed: number, each: number): (WrittenDate & { readonly words: number })[] {
  const draw = uniform(seed);
  return range(5).flatMap((form) =>
    range(each).map(() => {
      const first = Math.floor((Date.UTC(1950, 0, 1) + draw() * 100 * 365 * 864e5) / 1000) * 1000;
      const [from, to] = [forms(new Date(first)), forms(new Date(first + Math.floor((1 + draw() * 500) * 86_400) * 1000))];
      const stretch = (a: { text: string; iso: string }, b: { text: string; iso: string }) => ({
        text: `from ${a.text} to ${b.text}`,
        iso: `${a.iso}/${b.iso}`,
      });
      const { text, iso } = [from.day, from.full, from.time, stretch(from.full, to.full), stretch(from.exact, to.exact)][form];
      return { text, iso, lang: "en", words: text.split(" ").length };
    }),
  );
}
