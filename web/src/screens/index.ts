/** The screens of the page, by the first part of the address. Those of the first look are there at once, the others come later. */
import { hasScreen } from "../local/site";
import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { ApiError } from "../errors";
import type { Screen } from "../lib/link";
import { Attention } from "./attention";
import { Inside } from "./inside";
import { Translate } from "./translate";

/** Told by the build: true in the script of exported files, which holds no screen that needs a server. */
declare const __FILE__: boolean;

interface Entry {
  /** whether the screen asks a model */
  readonly needsModel: boolean;
  /** whether it is about the sentence of the address: then it has the What-if drawer, and exported files show it */
  readonly looks: boolean;
  /** the key after `g` */
  readonly key: string;
}

export const screens: Record<Screen, Entry> = {
  translate: { needsModel: true, looks: true, key: "t" },
  documents: { needsModel: true, looks: false, key: "o" },
  chat: { needsModel: true, looks: false, key: "h" },
  map: { needsModel: true, looks: true, key: "m" },
  attention: { needsModel: true, looks: true, key: "a" },
  inside: { needsModel: true, looks: true, key: "i" },
  compare: { needsModel: true, looks: true, key: "c" },
  beam: { needsModel: true, looks: true, key: "b" },
  training: { needsModel: false, looks: false, key: "r" },
  quality: { needsModel: false, looks: false, key: "q" },
  learn: { needsModel: false, looks: false, key: "l" },
  docs: { needsModel: false, looks: false, key: "d" },
};

/** Screens that can be drawn, and what went wrong on the way of the others. */
export const drawable = signal<Partial<Record<Screen, ComponentType>>>({ translate: Translate, attention: Attention, inside: Inside });
export const missed = signal<ApiError | null>(null);

/** A sheet beside the page that comes later: `more` or `learn`; exported files have theirs inside. */
export function style(name: "more" | "learn"): Promise<void> {
  const href = document.querySelector<HTMLMetaElement>(`meta[name=${name}-style]`)?.content;
  if (!href || document.querySelector(`link[href="${href}"]`)) return Promise.resolve();
  const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href });
  document.head.append(link);
  return new Promise((done, fail) => {
    link.onload = () => done();
    link.onerror = () => {
      link.remove();
      fail(new Error(href));
    };
  });
}

/** Screens with a script of their own. */
const ALONE: readonly Screen[] = ["learn", "documents", "map"];

/** Brings a later screen, once: those of `ALONE` each by itself, the others together. */
export async function bring(name: Screen): Promise<void> {
  if (!hasScreen(name) || drawable.value[ALONE.includes(name) ? name : "beam"]) return;
  missed.value = null;
  try {
    if (!__FILE__ && name === "learn") {
      const [book] = await Promise.all([import("../learn/learn"), style("more"), style("learn")]);
      drawable.value = { ...drawable.value, learn: book.Learn };
    } else if (!__FILE__ && name === "documents") {
      const [desk] = await Promise.all([import("./documents"), style("more")]);
      drawable.value = { ...drawable.value, documents: desk.Documents };
    } else if (name === "map") {
      const [whole] = await Promise.all([import("./map"), style("more")]);
      drawable.value = { ...drawable.value, map: whole.MapScreen };
    } else {
      const [more] = await Promise.all([__FILE__ ? import("./file") : import("./more"), style("more")]);
      drawable.value = { ...drawable.value, ...more.screens };
    }
  } catch (error) {
    missed.value = new ApiError(0, "unreachable", String(error)); // the server is away, or a newer one
  }
}
