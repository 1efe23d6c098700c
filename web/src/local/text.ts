/** Texts as Python sees them: white space, NFC, tidied lines, code points. */
import { ApiError } from "../errors";

/** What Python calls white space. */
const SPACES = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const RUN = new RegExp(`[${SPACES}]+`, "u");
const AROUND = new RegExp(`^[${SPACES}]+|[${SPACES}]+$`, "gu");

export const isSpace = (text: string): boolean => text !== "" && text.replace(AROUND, "") === "";
export const strip = (text: string): string => text.replace(AROUND, "");
/** How many spaces a text begins with. */
export const indent = (text: string): number => points(text).length - points(text.replace(new RegExp(`^[${SPACES}]+`, "u"), "")).length;

/** The text as a list of code points. */
export const points = (text: string): string[] => [...text];
/** A part of a text, counted in code points. */
export const part = (text: string, from: number, to?: number): string => points(text).slice(from, to).join("");
export const length = (text: string): number => points(text).length;

/** A text in Unicode's composed form; half a character is refused. */
export function nfc(text: string): string {
  const half = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.exec(text);
  if (half) {
    const name = half[0].charCodeAt(0).toString(16).toUpperCase();
    throw new ApiError(422, "bad_unicode", `the text has a lone surrogate U+${name} at character ${length(text.slice(0, half.index)) + 1}`);
  }
  return text.normalize("NFC");
}

/** NFC, every run of white space as one space, none at the ends. */
export const tidy = (text: string): string => nfc(text).split(RUN).filter(Boolean).join(" ");

/** Korean syllables as the letters they are made of. */
export const toJamo = (text: string): string => text.replace(/[가-힣]+/gu, (run) => run.normalize("NFD"));

const LETTERS = {
  ᄀ: "ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ",
  ᅡ: "ㅏㅐㅑㅒㅓㅔㅕㅖㅗㅘㅙㅚㅛㅜㅝㅞㅟㅠㅡㅢㅣ",
  ᆨ: "ㄱㄲㄳㄴㄵㄶㄷㄹㄺㄻㄼㄽㄾㄿㅀㅁㅂㅄㅅㅆㅇㅈㅊㅋㅌㅍㅎ",
};
/** Letters of syllables as letters that stand alone. */
export const alone = (text: string): string =>
  text.replace(/[\u1100-\u1112\u1161-\u1175\u11a8-\u11c2]/gu, (letter) => {
    for (const [first, row] of Object.entries(LETTERS)) {
      const at = letter.charCodeAt(0) - first.charCodeAt(0);
      if (at >= 0 && at < row.length) return row[at];
    }
    return letter;
  });

/** Which way a text runs: as its first character that has a direction of its own. */
export function direction(text: string): "ltr" | "rtl" {
  const strong =
    /(?<rtl>[\u0590\u05be\u05c0\u05c3\u05c6\u05c8-\u05ff\u0608\u060b\u060d\u061b-\u064a\u066d-\u066f\u0671-\u06d5\u06e5\u06e6\u06ee\u06ef\u06fa-\u0710\u0712-\u072f\u074b-\u07a5\u07b1-\u07ea\u07f4\u07f5\u07fa-\u07fc\u07fe-\u0815\u081a\u0824\u0828\u082e-\u0858\u085c-\u0897\u08a0-\u08c9\u200f\ufb1d\ufb1f-\ufb28\ufb2a-\ufd3d\ufd50-\ufdce\ufdf0-\ufdfc\ufe70-\ufefe\u{10800}-\u{10fff}\u{1e800}-\u{1efff}])|[\p{L}\p{Mc}\p{Nl}\u200e]/u.exec(
      text,
    );
  return strong?.groups?.rtl ? "rtl" : "ltr";
}
