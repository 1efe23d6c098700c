/** Sizes of files and times to wait, in words. */

/** 1.5 MB, 320 kB, 17 B: two digits that count, in the numbers of a language. */
export function sizeText(bytes: number, locale: string): string {
  const units = ["B", "kB", "MB", "GB"];
  let unit = 0;
  let value = bytes;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  const text = new Intl.NumberFormat(locale, { maximumFractionDigits: unit > 0 && value < 9.95 ? 1 : 0 }).format(value);
  return `${text} ${units[unit]}`;
}

export interface Wait {
  readonly n: number;
  readonly unit: "seconds" | "minutes" | "hours";
}

/** How long to wait, rounded up to what a person would say. */
export function waitOf(seconds: number): Wait {
  if (seconds < 55) return { n: Math.max(1, seconds < 10 ? Math.ceil(seconds) : Math.ceil(seconds / 5) * 5), unit: "seconds" };
  if (seconds < 55 * 60) return { n: Math.ceil(seconds / 60), unit: "minutes" };
  return { n: Math.ceil(seconds / 3600), unit: "hours" };
}
