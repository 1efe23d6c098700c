/** A path for a class: views in an order, each with a question, in one link. */
import { formatAddress, parseAddress, SCREENS, type Address, type Screen } from "./link";

export interface Stop {
  /** path and query of the view, as `formatAddress` writes it */
  readonly at: string;
  readonly question: string;
  readonly answer: string;
}
export interface Path {
  readonly title: string;
  readonly stops: readonly Stop[];
}

export const MOST_STOPS = 30;
const LONGEST = 2000;

/** What an address of a step has besides its own view. */
export const OWN = ["teach", "step", "alone", "f"] as const;

/** The path as one word of an address. */
export function encodePath(path: Path): string {
  const plain = JSON.stringify([path.title, ...path.stops.map(({ at, question, answer }) => [at, question, answer])]);
  const binary = Array.from(new TextEncoder().encode(plain), (byte) => String.fromCharCode(byte)).join("");
  return btoa(binary).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

const isText = (value: unknown): value is string => typeof value === "string" && value.length <= LONGEST;
const isStop = (value: unknown): value is [string, string, string] =>
  Array.isArray(value) && value.length === 3 && value.every(isText) && SCREENS.includes(value[0].split(/[/?]/)[1] as Screen);

/** The path of an address; null when it is none. */
export function decodePath(text: string | undefined): Path | null {
  if (!text) return null;
  try {
    const bytes = Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (char) => char.charCodeAt(0));
    const [title, ...stops] = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)) as unknown[];
    if (!isText(title) || stops.length === 0 || stops.length > MOST_STOPS || !stops.every(isStop)) return null;
    return { title, stops: stops.map(([at, question, answer]) => ({ at, question, answer })) };
  } catch {
    return null;
  }
}

/** The address of a step, from 0; `word` is the encoded path. */
export function stepAddress(path: Path, step: number, word: string): Address {
  const [where, query = ""] = path.stops[step].at.split("?");
  const { screen, rest, params } = parseAddress(where, query);
  return { screen, rest, params: { ...params, teach: word, step: String(step + 1) } };
}

/** The step of an address, from 0, within the path. */
export const stepOf = (text: string | undefined, path: Path): number =>
  Math.max(0, Math.min(path.stops.length - 1, (Math.trunc(Number(text)) || 1) - 1));

/** Whether going from one address of a path to another leaves the view that its step fixes: the screen, the model or the text. */
export function strays(from: Address, to: Address): boolean {
  if (from.params.teach === undefined || from.params.teach !== to.params.teach || from.params.step !== to.params.step) return false;
  return from.screen !== to.screen || from.rest !== to.rest || ["m", "s", "d"].some((name) => from.params[name] !== to.params[name]);
}

/** A view as a stop of a path: its address without what belongs to a path or a tour. */
export function stopAt(address: Address): string {
  const params: Record<string, string> = { ...address.params };
  for (const name of [...OWN, "tour", "le"]) delete params[name];
  return formatAddress({ ...address, params });
}
