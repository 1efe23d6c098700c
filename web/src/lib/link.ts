import type { Op } from "./interventions";
/** The address of the page and what it says: screen, parameters and interventions. */

export const SCREENS = [
  "translate",
  "documents",
  "chat",
  "map",
  "attention",
  "inside",
  "compare",
  "beam",
  "training",
  "quality",
  "learn",
  "docs",
] as const;
export type Screen = (typeof SCREENS)[number];
export type Params = Readonly<Record<string, string>>;
export interface Address {
  readonly screen: Screen;
  /** what follows the screen in the path, without slashes at the ends: `/learn/3` -> `3`; `/t/{id}` -> rest `t/{id}` of translate */
  readonly rest: string;
  readonly params: Params;
}

/** Order in which well-known parameters are written, so that equal states have equal addresses. */
const ORDER = ["m", "d", "s", "i", "t", "b", "lp", "px", "g", "k", "l", "h", "q", "j", "w"];

export function parseAddress(path: string, search: string): Address {
  const parts = path.split("/").filter(Boolean).map(decodePart);
  const params: Record<string, string> = {};
  for (const [key, value] of new URLSearchParams(search)) params[key] = value;
  const first = parts[0] as Screen;
  if (SCREENS.includes(first)) return { screen: first, rest: parts.slice(1).join("/"), params };
  return { screen: "translate", rest: parts.join("/"), params };
}

/** The path and query of an address; empty parameters are left out. */
export function formatAddress({ screen, rest, params }: Address): string {
  const rank = (key: string) => (ORDER.includes(key) ? ORDER.indexOf(key) : ORDER.length);
  const query = Object.keys(params)
    .filter((key) => params[key] !== "")
    .sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1))
    .map((key) => `${encodeURIComponent(key)}=${encodeURIComponent(params[key])}`)
    .join("&");
  const path = "/" + [screen, ...rest.split("/").filter(Boolean)].map(encodeURIComponent).join("/");
  return query ? `${path}?${query}` : path;
}

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Interventions as base64url of their compact JSON. */
export function encodeOps(ops: readonly Op[]): string {
  if (ops.length === 0) return "";
  const bytes = new TextEncoder().encode(JSON.stringify(ops));
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

/** The interventions in an address; `null` when it holds something else. */
export function decodeOps(text: string): readonly Op[] | null {
  if (text === "") return [];
  try {
    const binary = atob(text.replace(/-/g, "+").replace(/_/g, "/"));
    const bytes = Uint8Array.from(binary, (char) => char.charCodeAt(0));
    const ops: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    const good = Array.isArray(ops) && ops.every((op) => typeof op === "object" && op !== null && typeof op.op === "string");
    return good ? (ops as Op[]) : null;
  } catch {
    return null;
  }
}

/** An exported page that opens on this view: `address` as `formatAddress` writes it. */
export function startingAt(html: string, address: string): string {
  const plain = JSON.stringify(address).replace(/[<>&\u2028\u2029]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return html.replace(/"start":"(?:[^"\\]|\\.)*"/, () => `"start":${plain}`);
}
