/** How far the reader is, kept by the browser. */
import { signal } from "@preact/signals";
import { readProgress, type Progress } from "../lib/lessons";
import { remember, remembered } from "../storage";

export const progress = signal<Progress>(readProgress(remembered("learn")));

/** Notes that a chapter was opened, or its question answered; what is done stays done. */
export function advance(id: string, state: "seen" | "done"): void {
  if (progress.value[id] === state || progress.value[id] === "done") return;
  progress.value = { ...progress.value, [id]: state };
  remember("learn", JSON.stringify(progress.value));
}

export function forget(): void {
  progress.value = {};
  remember("learn", "{}");
}
