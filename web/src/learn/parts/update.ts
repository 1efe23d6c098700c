/** The arithmetic of one update of one weight, line by line, from the gradient and what the optimiser remembers. */
import type { UpdateRule, WeightUpdate } from "../../api-types";
import { number } from "../../lib/format";

export interface UpdateLine {
  readonly name: string;
  /** the equation in letters, then with numbers */
  readonly letters: string;
  readonly numbers: string;
  readonly value: number;
}

/** A number inside an expression: in brackets where it is negative. */
const n = (value: number) => (value < 0 ? `(${number(value)})` : number(value));

export function updateLines(weight: WeightUpdate, rule: UpdateRule): readonly UpdateLine[] {
  const { before, gradient: g, m_before: m0 } = weight;
  const { lr, betas, eps, number: t, weight_decay: decay } = rule;
  const [b1, b2] = betas;
  if (rule.name === "sgd") {
    const m = b1 * m0 + g;
    return [
      { name: "m", letters: "β₁m + g", numbers: `${b1}·${n(m0)} + ${n(g)}`, value: m },
      { name: "θ′", letters: "θ − ηm", numbers: `${n(before)} − ${number(lr)}·${n(m)}`, value: before - lr * m },
    ];
  }
  const v0 = weight.v_before ?? 0;
  const m = b1 * m0 + (1 - b1) * g;
  const v = b2 * v0 + (1 - b2) * g * g;
  const mHat = m / (1 - b1 ** t);
  const vHat = v / (1 - b2 ** t);
  const kept = rule.name === "adamw" ? before * (1 - lr * decay) : before;
  const step = mHat / (Math.sqrt(vHat) + eps);
  const shrink: UpdateLine = { name: "θ", letters: "θ(1 − ηλ)", numbers: `${n(before)}·(1 − ${number(lr)}·${decay})`, value: kept };
  return [
    { name: "m", letters: "β₁m + (1 − β₁)g", numbers: `${b1}·${n(m0)} + ${number(1 - b1)}·${n(g)}`, value: m },
    { name: "v", letters: "β₂v + (1 − β₂)g²", numbers: `${b2}·${n(v0)} + ${number(1 - b2)}·${n(g)}²`, value: v },
    { name: "m̂", letters: "m / (1 − β₁ᵗ)", numbers: `${n(m)} / (1 − ${b1}^${t})`, value: mHat },
    { name: "v̂", letters: "v / (1 − β₂ᵗ)", numbers: `${n(v)} / (1 − ${b2}^${t})`, value: vHat },
    ...(rule.name === "adamw" ? [shrink] : []),
    {
      name: "θ′",
      letters: "θ − η m̂ / (√v̂ + ε)",
      numbers: `${n(kept)} − ${number(lr)}·${n(step)}`,
      value: kept - lr * step,
    },
  ];
}
