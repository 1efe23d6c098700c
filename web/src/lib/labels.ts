/** Labels of axes: which of them to show, and how to shorten and set them. */

const segmenter = typeof Intl.Segmenter === "function" ? new Intl.Segmenter(undefined, { granularity: "grapheme" }) : null;

/** Remembers the last few thousand answers of a function of one text: labels are asked for on every move of the pointer. */
function memo<R>(make: (text: string) => R): (text: string) => R {
  const known = new Map<string, R>();
  return (text) => {
    if (!known.has(text)) {
      if (known.size > 4000) known.clear();
      known.set(text, make(text));
    }
    return known.get(text)!;
  };
}

/** What a reader sees as characters: combining marks, flags and joined emoji stay whole. */
export const graphemes: (text: string) => readonly string[] = memo((text) =>
  segmenter ? Array.from(segmenter.segment(text), (part) => part.segment) : [...text],
);

/** At most `length` characters, cut in the middle: the ends of a word tell the most. */
export function shorten(text: string, length: number): string {
  const parts = graphemes(text);
  if (parts.length <= length) return text;
  if (length < 2) return "…";
  const head = Math.ceil((length - 1) / 2);
  const tail = length - 1 - head;
  return parts.slice(0, head).join("") + "…" + (tail > 0 ? parts.slice(-tail).join("") : "");
}

const CJK =
  /[\u1100-\u11ff\u2e80-\u303f\u3040-\u30ff\u3130-\u318f\u31c0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef]|[\ud840-\ud888][\udc00-\udfff]/;
const RTL = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]/;

export const isCjk = (text: string) => CJK.test(text);
/** Whether a column label is set upright, one character below another: where all of it is CJK ("1945년" would fall apart). */
export const isUpright = (text: string) => graphemes(text).every((part) => part === "…" || isCjk(part));
export const isRtl = (text: string) => RTL.test(text);

const WIDE = /\p{Extended_Pictographic}/u;

/** Rough width of a text in em, for layout without measuring. */
export const widthOf: (text: string) => number = memo((text) => {
  const one = (part: string) =>
    CJK.test(part) || WIDE.test(part) ? 1 : /[il.,:;'|!\-\s]/.test(part) ? 0.32 : /[mwMW@%]/.test(part) ? 0.85 : 0.57;
  return graphemes(text).reduce((sum, part) => sum + one(part), 0);
});

/** Which of `count` labels to draw when each needs `needed` pixels and has `step`. The ones in `always` are drawn first; their neighbours make room. */
export function thin(count: number, step: number, needed: number, always: readonly number[] = []): boolean[] {
  const shown = new Array<boolean>(count).fill(false);
  const gap = Math.max(1, Math.ceil(needed / Math.max(step, 1e-6)));
  for (const i of always) if (i >= 0 && i < count) shown[i] = true;
  if (gap === 1) return shown.fill(true);
  const forced = always.filter((i) => i >= 0 && i < count);
  for (let i = 0; i < count; i += gap) if (forced.every((f) => Math.abs(f - i) >= gap)) shown[i] = true;
  return shown;
}
