/** When what happens on the Map: phases of one decoding step, those of the encoder before the first, and the clock over them. */
import { boxesOf, type Box, type Plan } from "./plan";

/** Where the story stands: a step of decoding and a phase of it; phases below 0 are the encoder's, before step 0. */
export interface Moment {
  readonly step: number;
  readonly phase: number;
}

export interface Story {
  /** boxes of the encoder, then of one step of the decoder; the last phase of a step is its token, which has no box */
  readonly reads: readonly Box[];
  readonly writes: readonly (Box | null)[];
  readonly steps: number;
}

/** Milliseconds of a phase at speed 1: a step takes some five seconds however deep the model is, the first steps of a reader more. */
const STEP = 5200;
const LEAST = 180;
const MOST = 900;

export function storyOf(plan: Plan, steps: number): Story {
  const boxes = boxesOf(plan);
  return {
    reads: boxes.filter((box) => box.side === "encoder"),
    writes: [...boxes.filter((box) => box.side === "decoder"), null],
    steps,
  };
}

export const paceOf = (story: Story, { phase }: Moment): number => {
  const count = phase < 0 ? story.reads.length : story.writes.length;
  return Math.max(LEAST, Math.min(MOST, STEP / Math.max(1, count)));
};

/** The box of a moment; null for the token that ends a step. */
export const boxAt = (story: Story, { phase }: Moment): Box | null =>
  phase < 0 ? (story.reads[story.reads.length + phase] ?? null) : (story.writes[phase] ?? null);

export const lastPhase = (story: Story): number => story.writes.length - 1;
export const beginning = (story: Story): Moment => ({ step: 0, phase: -story.reads.length });
/** The end of a step: all of it is drawn. */
export const restOf = (story: Story, step: number): Moment => ({ step, phase: lastPhase(story) });

/** The moment after or before; itself at the ends. */
export function beside(story: Story, { step, phase }: Moment, by: 1 | -1): Moment {
  const to = phase + by;
  if (to > lastPhase(story)) return step + 1 < story.steps ? { step: step + 1, phase: 0 } : { step, phase };
  if (to >= 0 || (step === 0 && to >= -story.reads.length)) return { step, phase: to };
  return step > 0 ? { step: step - 1, phase: lastPhase(story) } : { step, phase };
}

export const same = (a: Moment, b: Moment): boolean => a.step === b.step && a.phase === b.phase;

/** A moment of an address, corrected to what the story has; without a phase the end of the step. */
export function momentOf(story: Story, step: number, phase: string | undefined): Moment {
  const at = Math.max(0, Math.min(story.steps - 1, step));
  const n = Number(phase ?? NaN);
  const first = at === 0 ? -story.reads.length : 0;
  return Number.isInteger(n) && n >= first && n <= lastPhase(story) ? { step: at, phase: n } : restOf(story, at);
}

export interface Clock {
  readonly moment: Moment;
  /** milliseconds into its phase */
  readonly spent: number;
  readonly ended: boolean;
}

/** The clock so many milliseconds later: whole phases that have passed are left behind. */
export function later(story: Story, { moment, spent }: Clock, by: number): Clock {
  let [now, left] = [moment, spent + by];
  for (;;) {
    const pace = paceOf(story, now);
    if (left < pace) return { moment: now, spent: left, ended: false };
    const next = beside(story, now, 1);
    if (same(next, now)) return { moment: now, spent: pace, ended: true };
    [now, left] = [next, left - pace];
  }
}

/** Whether what a box makes is there at a moment: 1 if it is, 0 if not yet, between while it is made. */
export function done(story: Story, box: Box, moment: Moment, u: number): number {
  const at = box.side === "encoder" ? story.reads.indexOf(box) - story.reads.length : story.writes.indexOf(box);
  return at < moment.phase ? 1 : at > moment.phase ? 0 : u;
}
