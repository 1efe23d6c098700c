/** Rows of numbers as bars: one row for each token, one column for each quantity, in the colours of the formula. */
import { fixed } from "../../lib/format";
import type { Label } from "../../lib/heatmap";
import { largest } from "../../lib/matrix";

export interface Amount {
  readonly name: string;
  /** colour of the formula's term, 1…6 */
  readonly term: number;
  readonly values: ArrayLike<number>;
  readonly decimals?: number;
  /** the value of a full bar (default: the largest there is) */
  readonly full?: number;
}

interface AmountsProps {
  /** one for each row */
  labels: readonly Label[];
  of: readonly Amount[];
  /** the row that is set apart */
  on?: number;
  /** at most so many rows, the largest by the last quantity; `rest` says in words how many are left out */
  most?: number;
  rest?(count: number): string;
}

export function Amounts({ labels, of, on, most = 16, rest }: AmountsProps) {
  const by = of[of.length - 1].values;
  const rows = labels.length > most ? largest(by, most).sort((a, b) => a - b) : labels.map((_, i) => i);
  const reach = of.map(({ values, full }) => {
    const seen = Array.from(values).filter(Number.isFinite);
    const most = full ?? Math.max(1e-9, ...seen.map(Math.abs));
    return { low: Math.min(0, ...seen.map((value) => Math.max(-most, value))), most };
  });
  return (
    <ol class="amounts" style={{ gridTemplateColumns: `minmax(32px, max-content) repeat(${of.length}, minmax(0, 1fr))` }}>
      <li aria-hidden="true">
        <span />
        {of.map(({ name, term }) => (
          <span key={name} class={`head term-${term}`}>
            {name}
          </span>
        ))}
      </li>
      {rows.map((row) => (
        <li key={row} class={row === on ? "on" : undefined}>
          <span class="of" lang={labels[row].lang}>
            {labels[row].text}
          </span>
          {of.map(({ name, term, values, decimals = 2 }, n) => {
            const { low, most } = reach[n];
            const part = (value: number) => (100 * (Math.max(-most, Math.min(most, value)) - low)) / (most - low);
            const [zero, end] = [part(0), part(Number.isFinite(values[row]) ? values[row] : 0)];
            const bar = { "--from": `${Math.min(zero, end)}%`, "--size": `${Math.abs(end - zero)}%` };
            return (
              <span key={name} class={`amount term-${term}`}>
                <i style={bar} aria-hidden="true" />
                <span>
                  <span class="sr">{name} </span>
                  {fixed(values[row], decimals)}
                </span>
              </span>
            );
          })}
        </li>
      ))}
      {rows.length < labels.length && rest && (
        <li>
          <span class="rest">{rest(labels.length - rows.length)}</span>
        </li>
      )}
    </ol>
  );
}
