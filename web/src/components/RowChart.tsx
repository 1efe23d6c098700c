/** One row per thing: dots with their intervals over an axis, or bars from zero, with the value written out. */
import { useSize } from "../hooks";
import { domain, niceTicks, scale } from "../lib/chart";
import { number } from "../lib/format";
import { shorten, widthOf } from "../lib/labels";
import "../styles/chart.css";

export interface Row {
  readonly label: string;
  /** series colour, 1…6 */
  readonly colour: number;
  readonly marks: readonly { readonly value: number; readonly ends?: readonly [number, number] | null; readonly tip?: string }[];
  /** stands at the end of the row; without marks it says why there are none */
  readonly text: string;
  /** how long a bar could be */
  readonly most?: number;
}

export interface RowChartProps {
  /** accessible name */
  name: string;
  rows: readonly Row[];
  bars?: boolean;
  xLabel?: string;
  range?: readonly [number | null, number | null];
  /** a value to compare all rows with */
  level?: number | null;
}

export function RowChart({ name, rows, bars = false, xLabel = "", range, level = null }: RowChartProps) {
  const [frame, measured] = useSize<HTMLDivElement>();
  const width = Math.max(240, measured.width || 640);
  const narrow = width < 460; // labels and values stand above their rows
  const pitch = narrow ? 44 : 30;
  const room = (texts: readonly string[]) => Math.max(0, ...texts.map((text) => widthOf(text) * 12.5)) + 14;
  const left = narrow ? 8 : Math.min(room(rows.map((row) => row.label)), 0.4 * width);
  const right = Math.max(left + 60, width - (narrow ? 10 : room(rows.map((row) => row.text))));
  const values = rows.flatMap((row) => [row.most, ...row.marks.flatMap((mark) => [mark.value, ...(mark.ends ?? [])])]);
  const [low, high] = domain([...values, level], false, bars ? [0, null] : range);
  const x = scale([low, high], [left, right]);
  const foot = pitch * rows.length + 6;
  const bar = (kind: string, to: number, y: number) => (
    <rect class={kind} x={left} y={y - 7} width={Math.max(1, x(to) - left)} height={14} rx={2} />
  );
  return (
    <div class="chart rows" ref={frame}>
      <svg width={width} height={foot + (bars ? 2 : 40)} viewBox={`0 0 ${width} ${foot + (bars ? 2 : 40)}`} role="img" aria-label={name}>
        {!bars &&
          niceTicks(low, high, Math.max(2, Math.floor((right - left) / 80))).map((at) => (
            <g key={at}>
              <line class="grid" x1={x(at)} x2={x(at)} y1={0} y2={foot} />
              <text x={x(at)} y={foot + 15} text-anchor="middle">
                {number(at)}
              </text>
            </g>
          ))}
        {level !== null && <line class="level" x1={x(level)} x2={x(level)} y1={0} y2={foot} stroke-dasharray="4 3" />}
        {rows.map((row, i) => {
          const y = pitch * i + (narrow ? 32 : pitch / 2);
          const above = narrow ? y - 16 : y;
          return (
            <g key={i} class={`series c${row.colour}`}>
              <text class="end" x={narrow ? 0 : left - 12} y={above} text-anchor={narrow ? "start" : "end"} dominant-baseline="central">
                {shorten(row.label, Math.max(8, Math.floor((narrow ? 0.55 * width : left) / 7)))}
              </text>
              {row.most !== undefined && bar("most", row.most, y)}
              {row.marks.map((mark, m) => (
                <g key={m} class="mark">
                  {bars ? bar("amount", mark.value, y) : <circle class="spot" cx={x(mark.value)} cy={y} r={5} />}
                  {mark.ends && <path class="whisker" d={`M${x(mark.ends[0])} ${y}H${x(mark.ends[1])}`} />}
                  <title>{mark.tip ?? `${row.label}: ${row.text}`}</title>
                </g>
              ))}
              <text class="value" x={width - 2} y={above} text-anchor="end" dominant-baseline="central">
                {row.text}
              </text>
            </g>
          );
        })}
        {!bars && (
          <text class="axis-name" x={right} y={foot + 34} text-anchor="end">
            {xLabel}
          </text>
        )}
      </svg>
    </div>
  );
}
