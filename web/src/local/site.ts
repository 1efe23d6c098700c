/** Whether this page stands alone: then what it asks for is computed in the tab, and its address is behind a #. */
import { embedded } from "../embedded";
import type { Screen } from "../lib/link";
import { unpacked } from "../lib/unpacked";

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
/** A JSON file beside the page, where it lies packed if there is no server. */
export async function fileBeside<R>(name: string, signal?: AbortSignal): Promise<R> {
  const response = await fetch(local ? `${name}.gz` : `/${name}`, { signal });
  if (!local) return (await response.json()) as R;
  return JSON.parse(new TextDecoder().decode(await unpacked(new Uint8Array(await response.arrayBuffer())))) as R;
}
/** Whether a screen can be drawn: without a server some cannot, and runs are shown where the site holds some. */
export function hasScreen(name: Screen): boolean {
  if (!local) return true;
  if (__FILE__ && name === "learn") return false;
  if (name === "training" || name === "quality") return told("jumok-runs") !== null;
  return name !== "documents" && name !== "chat" && name !== "docs";
}
