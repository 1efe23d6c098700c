/** Colour tables of 256 entries: sequential (monotone in lightness) and signed (blue, neutral, orange), for both themes. */

type Rgb = readonly [number, number, number];
/** lightness 0-1, chroma, hue in degrees (OKLCH) */
type Stop = readonly [number, number, number];

/** sRGB of an OKLab colour, clipped to the gamut. */
export function oklab([l, a, b]: Rgb): Rgb {
  const p = (l + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const q = (l - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const r = (l - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    gamma(4.0767416621 * p - 3.3077115913 * q + 0.2309699292 * r),
    gamma(-1.2684380046 * p + 2.6097574011 * q - 0.3413193965 * r),
    gamma(-0.0041960863 * p - 0.7034186147 * q + 1.707614701 * r),
  ];
}

function gamma(x: number): number {
  const y = x <= 0.0031308 ? 12.92 * x : 1.055 * x ** (1 / 2.4) - 0.055;
  return Math.round(255 * Math.min(1, Math.max(0, y)));
}

const toLab = ([l, c, h]: Stop): Rgb => [l, c * Math.cos((h * Math.PI) / 180), c * Math.sin((h * Math.PI) / 180)];

/** 256 × RGBA, interpolated in OKLab between stops at equal distances. */
function tableOf(list: readonly Stop[]): Uint8ClampedArray {
  const stops = list.map(toLab);
  const table = new Uint8ClampedArray(256 * 4);
  for (let i = 0; i < 256; i++) {
    const x = (i / 255) * (stops.length - 1);
    const at = Math.min(stops.length - 2, Math.floor(x));
    const f = x - at;
    const mixed = stops[at].map((v, j) => v + f * (stops[at + 1][j] - v)) as unknown as Rgb;
    table.set([...oklab(mixed), 255], i * 4);
  }
  return table;
}

const SEQUENTIAL = {
  light: tableOf([
    [0.985, 0.004, 240],
    [0.88, 0.05, 245],
    [0.72, 0.115, 255],
    [0.52, 0.175, 265],
    [0.31, 0.13, 272],
  ]),
  dark: tableOf([
    [0.235, 0.012, 265],
    [0.36, 0.09, 268],
    [0.53, 0.15, 264],
    [0.73, 0.12, 245],
    [0.95, 0.05, 205],
  ]),
};
const SIGNED = {
  light: tableOf([
    [0.4, 0.14, 255],
    [0.66, 0.12, 248],
    [0.975, 0.002, 90],
    [0.72, 0.13, 58],
    [0.47, 0.125, 48],
  ]),
  dark: tableOf([
    [0.82, 0.1, 242],
    [0.54, 0.13, 252],
    [0.245, 0.003, 270],
    [0.56, 0.12, 52],
    [0.84, 0.11, 68],
  ]),
};

/** Table for values 0…1 → entries 0…255. */
export const sequential = (dark: boolean) => (dark ? SEQUENTIAL.dark : SEQUENTIAL.light);
/** Table for values −1…1 → entries 0…255, neutral in the middle. */
export const signedTable = (dark: boolean) => (dark ? SIGNED.dark : SIGNED.light);

/** Entry of the table as a CSS colour. */
export const css = (table: Uint8ClampedArray, entry: number) => {
  const i = Math.max(0, Math.min(255, Math.round(entry))) * 4;
  return `rgb(${table[i]} ${table[i + 1]} ${table[i + 2]})`;
};

/** Black or white ink, whichever reads better on an entry of the table. */
export function inkOn(table: Uint8ClampedArray, entry: number): "#000000" | "#ffffff" {
  const i = Math.max(0, Math.min(255, Math.round(entry))) * 4;
  const light = luminance([table[i], table[i + 1], table[i + 2]]);
  return 1.05 / (light + 0.05) > (light + 0.05) / 0.05 ? "#ffffff" : "#000000";
}

/** Relative luminance (WCAG) of an sRGB colour. */
export function luminance(rgb: Rgb): number {
  const [r, g, b] = rgb.map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

export interface Scale {
  /** square root, as in the atlas: small weights stay visible */
  readonly sqrt?: boolean;
  /** blue–orange around zero */
  readonly signed?: boolean;
  /** the value of the last entry (default 1); for signed data the largest magnitude */
  readonly max?: number;
}

/** Entry 0…255 of a value on a scale. */
export function entryOf(value: number, { sqrt = false, signed = false, max = 1 }: Scale): number {
  const share = max > 0 ? Math.min(1, Math.abs(value) / max) : 0;
  const shown = sqrt ? Math.sqrt(share) : share;
  if (!signed) return value > 0 ? Math.round(255 * shown) : 0;
  return Math.round(127.5 + Math.sign(value) * 127.5 * shown);
}
