/** The documents that this browser has sent: the server tells no one else's, and these only to who knows their ids. */
import { signal } from "@preact/signals";
import { go } from "../../state";
import { remember, remembered } from "../../storage";

const MOST = 24;

function stored(): readonly string[] {
  try {
    const ids: unknown = JSON.parse(remembered("documents") ?? "[]");
    return Array.isArray(ids) ? ids.filter((id) => typeof id === "string" && /^[0-9a-f]{32}$/.test(id)) : [];
  } catch {
    return [];
  }
}

/** Ids, the newest first. */
export const mine = signal<readonly string[]>(stored());

function put(ids: readonly string[]): void {
  mine.value = ids.slice(0, MOST);
  remember("documents", JSON.stringify(mine.value));
}
export const keep = (id: string) => put([id, ...mine.value.filter((one) => one !== id)]);
export const drop = (gone: readonly string[]) => gone.length > 0 && put(mine.value.filter((id) => !gone.includes(id)));

/** Shows a document; the address is all that is needed to find it again. */
export const open = (id: string) => go("documents", {}, id);
/** Shows where another one is chosen. */
export const close = () => go("documents", {}, "");
