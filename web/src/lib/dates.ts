/** Dates as people write them, made on the spot: what a model of dates is to read, and the answer. */
import { uniform } from "./chance";
import { range } from "./range";

export interface WrittenDate {
  readonly text: string;
  readonly iso: string;
  readonly lang: string;
}

const LANGUAGES = ["ko", "en", "de", "sv", "fr", "ja", "nl", "es"] as const;

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
