/** Numbers as the page writes them. */
const MINUS = "\u2212";

/** A number with at most four significant figures, a real minus sign and no useless zeros. */
export function number(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "∞" : MINUS + "∞";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e6) return sign(value, String(size));
  if (size >= 1e6 || size < 1e-4) return sign(value, size.toExponential(2).replace("e+", "e").replace("-", MINUS));
  return sign(value, size >= 1000 ? size.toFixed(1) : size.toPrecision(4).replace(/\.?0+$/, ""));
}

/** A number with a fixed count of decimals; negative zero becomes zero. */
export function fixed(value: number, decimals: number): string {
  if (!Number.isFinite(value)) return number(value);
  const text = Math.abs(value).toFixed(decimals);
  return Number(text) === 0 ? text : sign(value, text);
}

/** The same with a sign on positive numbers too. */
export const signed = (value: number, decimals: number): string =>
  (Number(value.toFixed(decimals)) > 0 ? "+" : "") + fixed(value, decimals);

/** A weight for a small cell: two decimals without the leading zero, `1` for one, and nothing that rounds to zero. */
export function weight(value: number): string {
  const text = value.toFixed(2);
  if (text === "0.00" || text === "-0.00") return "";
  return text
    .replace(/^(-?)0\./, "$1.")
    .replace("-", MINUS)
    .replace(/^1\.00$/, "1");
}

/** A probability in percent: `83 %`, `<1 %`. */
export function percent(share: number): string {
  const value = share * 100;
  if (value > 0 && value < 1) return "<1 %";
  return `${Math.round(value)} %`;
}

/** Thousands and millions in short: 8.2 M, 94 k. */
export function short(value: number): string {
  if (Math.abs(value) >= 1e6) return `${number(Number((value / 1e6).toPrecision(3)))} M`;
  if (Math.abs(value) >= 1e4) return `${number(Number((value / 1e3).toPrecision(3)))} k`;
  return number(value);
}

function sign(value: number, text: string): string {
  return value < 0 ? MINUS + text : text;
}
