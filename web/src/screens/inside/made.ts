/** How one cell of a forward pass was made, with the tensors that it takes. */
import type { Tensor } from "../../lib/safetensors";
import { useTensors, type Resource } from "../../hooks";
import { bytesOf, gridOf, headsOf, inputNeeds, reckon, type Line, type Pass, type Place } from "../../lib/forward";
import { model } from "../../state";

/** Most bytes of tensors in one answer, as the model at hand says. */
export const mostBytes = (): number => model.value?.limits.trace_bytes ?? 4 << 20;

export interface Made {
  /** what it is made of is small enough to be brought */
  readonly light: boolean;
  readonly tensors: Resource<Map<string, Tensor>>;
  /** null until the inputs are there */
  lines(value: number): Line[] | null;
}

export function useMade(pass: Pass, place: number, at: Place, most = mostBytes()): Made {
  const one = pass.tensors[place];
  const needs = inputNeeds(pass, one, at);
  const size = one.inputs.reduce((sum, from) => sum + bytesOf(pass.tensors[from]) / Math.max(1, headsOf(pass.tensors[from])), 0);
  const light = one.how === "lookup" || one.how === "loss" || size <= most;
  const tensors = useTensors(needs && light ? pass.id : null, needs ?? []);
  const from = needs?.flatMap((need) => tensors.value?.get(need) ?? []) ?? [];
  const ready = needs !== null && from.length === needs.length && needs.length > 0;
  return { light, tensors, lines: (value) => (ready ? reckon(one, value, from.map(gridOf), at) : null) };
}
