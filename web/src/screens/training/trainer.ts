/** The run that the server trains for the page: found again whenever the page is opened, and watched until it ends. */
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { type ApiError, epoch, getTrainer } from "../../api";
import type { TrainerOut, TrainingOut } from "../../api-types";
import { embedded } from "../../embedded";
import { problemOf } from "../../errors";
import { local } from "../../local/site";
import { loadModels, models } from "../../state";

const SOON_MS = 1000;

/** What the server says about training; null until it has. */
export const trainer = signal<TrainerOut | null>(null);
export const trainerError = signal<ApiError | null>(null);
/** Whether this page has a server that could train. */
export const hasTrainer = !embedded && !local;

/** Whether something is still to come of a run without anyone's doing. */
export const isBusy = (run: TrainingOut | null | undefined): boolean =>
  !!run && ["starting", "running", "pausing", "stopping", "loading"].includes(run.status);

export async function lookAtTrainer(abort?: AbortSignal): Promise<void> {
  try {
    const found = await getTrainer(abort);
    trainer.value = found;
    trainerError.value = null;
    const made = found.current?.model;
    if (made && !models.value?.some((card) => card.name === made)) await loadModels();
  } catch (error) {
    if (!abort?.aborted) trainerError.value = problemOf(error);
  }
}

/** Looks once, and every second while a run goes on. */
export function useTrainer(): TrainerOut | null {
  const back = epoch.value;
  const busy = isBusy(trainer.value?.current);
  useEffect(() => {
    if (!hasTrainer) return;
    const control = new AbortController();
    void lookAtTrainer(control.signal);
    const timer = busy ? setInterval(() => document.visibilityState === "visible" && void lookAtTrainer(control.signal), SOON_MS) : null;
    return () => {
      control.abort();
      if (timer) clearInterval(timer);
    };
  }, [back, busy]);
  return trainer.value;
}
