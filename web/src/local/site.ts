/** Whether this page stands alone: then what it asks for is computed in the tab, and its address is behind a #. */
import { embedded } from "../embedded";
import type { Screen } from "../lib/link";

/** Told by the build: true in the script of exported files. */
declare const __FILE__: boolean;

/** The worker's script inside a file that computes, as an address. */
function held(): string | null {
  const script = typeof document === "undefined" ? null : document.getElementById("jumok-worker");
  return script ? URL.createObjectURL(new Blob([script.textContent ?? ""], { type: "text/javascript" })) : null;
}

const told = (name: string) =>
  typeof document === "undefined" || __FILE__ ? null : (document.querySelector<HTMLMetaElement>(`meta[name=${name}]`)?.content ?? null);

/** The script of the worker, beside the page or in the file; null where a server answers, or a file that only shows. */
export const local: string | null = __FILE__ ? held() : told("jumok-worker");
/** Whether the address of a screen is behind a #. */
export const hashed = embedded !== null || local !== null;
/** Where a file beside the page is. */
export const beside = (name: string): string => (local ? name : `/${name}`);
/** Whether a screen can be drawn: without a server some cannot, and runs are shown where the site holds some. */
export function hasScreen(name: Screen): boolean {
  if (!local) return true;
  if (__FILE__ && name === "learn") return false;
  if (name === "training" || name === "quality") return told("jumok-runs") !== null;
  return name !== "documents" && name !== "chat" && name !== "docs";
}
