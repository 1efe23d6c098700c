/** Arithmetic in printed numbers that add up: sums with their parts, equations, the steps of a softmax. */
import type { ComponentChildren } from "preact";
import { t } from "../i18n";
import { addsUp, decimalsFor, operandDecimals, shown, softmaxSteps, sumOf, withSign, type Shown, type Sum } from "../lib/arithmetic";
import type { Line } from "../lib/forward";
import { number } from "../lib/format";
import { labelOf, type Label } from "../lib/heatmap";

interface Term {
  readonly name: ComponentChildren;
  readonly how?: string;
  readonly on?: boolean;
  onClick?(): void;
}

interface SumListProps {
  sum: Sum;
  term(index: number): Term;
  total: ComponentChildren;
  rest: string;
  positive?: boolean;
}

/** Parts, rest and total under each other, with bars; the printed numbers add up. */
export function SumList({ sum, term, total, rest, positive }: SumListProps) {
  const text = (one: Shown) => (positive ? one.text : withSign(one));
  const most = Math.max(...sum.parts.map((part) => Math.abs(part.shown.units)), Math.abs(sum.rest?.shown.units ?? 0), 1);
  const bar = (one: Shown) =>
    Math.abs(one.units) * 100 > most && (
      <i class={one.units < 0 ? "neg" : undefined} style={{ width: `${(100 * Math.abs(one.units)) / most}%` }} />
    );
  return (
    <ol class="sum">
      {sum.parts.map((part) => {
        const { name, how, on, onClick } = term(part.index);
        return (
          <li key={part.index} class={on ? "on" : undefined}>
            {onClick ? (
              <button type="button" onClick={onClick}>
                {name}
              </button>
            ) : (
              <span class="clip">{name}</span>
            )}
            <span class="sum-how">{how}</span>
            <span class="num">{text(part.shown)}</span>
            {bar(part.shown)}
          </li>
        );
      })}
      {sum.rest && (
        <li class="rest">
          <span class="clip">{sum.rest.count > 0 ? rest : t("inside.rounding")}</span>
          <span />
          <span class="num">{text(sum.rest.shown)}</span>
          {bar(sum.rest.shown)}
        </li>
      )}
      <li class="total">
        <span class="clip">{total}</span>
        <span />
        <span class="num">{sum.total.text}</span>
      </li>
    </ol>
  );
}

/** `a × b` with the digits that make the printed product come out. */
export function factors(a: number, b: number, product: Shown): string {
  const decimals = operandDecimals([a, b], (x, y) => x * y, product, 2) ?? 4;
  const text = (value: number) => shown(value, decimals).text;
  return `${text(a)} × ${b < 0 ? `(${text(b)})` : text(b)}`;
}

/** Numbers and signs in a row; the last is the result. */
export const Equation = ({ parts }: { parts: readonly ComponentChildren[] }) => (
  <p class="inside-line">{parts.map((part, i) => (i === parts.length - 1 ? <b key={i}>{part}</b> : <span key={i}>{part}</span>))}</p>
);

const plain = (value: number) => shown(value, decimalsFor(value)).text;

/** exp, the sum over the row, the share: one entry of a softmax. */
export function SoftmaxLines({ steps, names, at, rest, onPick }: SoftmaxProps) {
  const equals = steps.exact ? "=" : "≈";
  const top = steps.top.units < 0 ? `(${steps.top.text})` : steps.top.text;
  return (
    <ol class="lines">
      <li>
        <small>{t("inside.soft_exp")}</small>
        <Equation parts={[`exp(${steps.score.text} − ${top})`, equals, steps.exp.text]} />
      </li>
      <li>
        <small>{t("inside.soft_sum")}</small>
        <SumList
          positive
          sum={steps.sum}
          rest={rest(steps.sum.rest?.count ?? 0)}
          total={<b>{"Σ"}</b>}
          term={(k) => ({
            name: <bdi lang={names[k]?.lang}>{names[k]?.text ?? k}</bdi>,
            on: k === at,
            onClick: onPick && (() => onPick(k)),
          })}
        />
      </li>
      <li>
        <small>{t("inside.soft_share")}</small>
        <Equation parts={[steps.exp.text, "÷", steps.sum.total.text, equals, steps.weight.text]} />
      </li>
    </ol>
  );
}

interface SoftmaxProps {
  steps: ReturnType<typeof softmaxSteps>;
  names: readonly Label[];
  at: number;
  /** what to call so many others */
  rest(count: number): string;
  onPick?(k: number): void;
}

const others = (n: number) => t("layers.others", { n });

/** How a cell of a forward pass came about. `names` are those of the columns that a softmax goes over. */
export function Lines({ of, names, most = 8 }: { of: readonly Line[]; names: readonly (Label | string)[]; most?: number }) {
  return (
    <>
      {of.map((line, i) => (
        <OneLine key={i} of={line} names={names} most={most} />
      ))}
    </>
  );
}

function OneLine({ of: line, names, most }: { of: Line; names: readonly (Label | string)[]; most: number }) {
  if (line.kind === "softmax") {
    if (!line.mask[line.at]) return <Equation parts={["exp(−∞)", "=", "0"]} />;
    const steps = softmaxSteps(line.scores, line.mask, line.at, line.weight);
    return <SoftmaxLines steps={steps} names={names.map(labelOf)} at={line.at} rest={others} />;
  }
  if (line.kind === "equation") {
    const total = shown(line.total, decimalsFor(line.total));
    const numbers = line.parts.filter((part) => typeof part === "number");
    const decimals = operandDecimals(numbers, line.compute, total);
    const text = (value: number, before: number | string | undefined) => {
      const printed = Number.isInteger(value) ? number(value) : shown(value, decimals ?? 6).text;
      const first = before === undefined || String(before).endsWith("(");
      return value < 0 && !first ? `(${printed})` : printed;
    };
    const parts = line.parts.map((part, i) => (typeof part === "number" ? text(part, line.parts[i - 1]) : part));
    return <Equation parts={[...parts, decimals === null ? "≈" : "=", total.text]} />;
  }
  if (!addsUp(line.values, line.total)) return <Equation parts={[plain(line.total)]} />;
  const sum = sumOf(line.values, line.total, { most });
  return (
    <SumList
      sum={sum}
      rest={others(sum.rest?.count ?? 0)}
      total={<b>{"Σ"}</b>}
      term={(n) => ({
        name: line.names?.[n] ?? String(n + 1),
        how: line.factors ? factors(line.factors[0][n], line.factors[1][n], shown(line.values[n], sum.total.decimals)) : undefined,
      })}
    />
  );
}
