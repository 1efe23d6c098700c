/** The changes of a model one step back and one on, however they were made: by a click, a drag, the drawer or a key. */
import { effect, signal } from "@preact/signals";
import type { Op } from "../../lib/interventions";
import { encodeOps } from "../../lib/link";
import { model, ops, setOps, source } from "../../state";

type Ops = readonly Op[];

/** What was before the present changes, and what was taken back, the next one last. Both belong to one text and one model. */
const past = signal<readonly Ops[]>([]);
export const future = signal<readonly Ops[]>([]);

let [about, now, moving]: [string, Ops, boolean] = ["", ops.peek(), false];
effect(() => {
  const [next, of] = [ops.value, `${model.value?.name} ${source.value}`];
  if (of !== about) [past.value, future.value] = [[], []];
  else if (!moving && encodeOps(next) !== encodeOps(now)) [past.value, future.value] = [[...past.peek(), now], []];
  [about, now] = [of, next];
});

function move(to: Ops): void {
  moving = true;
  setOps(to);
  moving = false;
}

/** The step before; of changes that came with a link, without the last of them. */
export function undo(): void {
  const list = ops.value;
  const before = past.value[past.value.length - 1] ?? (list.length > 0 ? list.slice(0, -1) : null);
  if (!before) return;
  [past.value, future.value] = [past.value.slice(0, -1), [...future.value, list]];
  move(before);
}

export function redo(): void {
  const next = future.value[future.value.length - 1];
  if (!next) return;
  [past.value, future.value] = [[...past.value, ops.value], future.value.slice(0, -1)];
  move(next);
}
