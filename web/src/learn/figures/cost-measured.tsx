/** Multiplications of self-attention, recurrence and feed-forward by their formulas, and the same work timed in this tab. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Arch } from "../../api-types";
import { Button, choices, Segmented } from "../../components/controls";
import { Figure } from "../../components/Figure";
import { chartTable, LineChart, type Line } from "../../components/LineChart";
import { crossing, measure, multiplications, PARTS, power, type Part } from "../../lib/cost";
import { fixed, number, short } from "../../lib/format";
import { range } from "../../lib/range";
import { Slider } from "../parts";
import { wordsOf } from "../say";
import { costMeasured } from "../words/cost-measured";
import type { FigureProps } from ".";
import "./cost-measured.css";

export const arch: readonly Arch[] = [];
const say = wordsOf(costMeasured);
const LENGTHS = range(7).map((n) => 8 * 2 ** n); // 8 … 512
const WIDTHS = ["32", "64", "128"] as const;
type Width = (typeof WIDTHS)[number];
/** Milliseconds by part, one for each length that is done. */
type Times = Readonly<Record<Part, readonly number[]>>;
const NONE: Times = { attention: [], recurrence: [], feedforward: [] };

export default function CostMeasured({ tell }: Pick<FigureProps, "tell">) {
  const [width, setWidth] = useState<Width>("64");
  const [at, setAt] = useState(3);
  const [times, setTimes] = useState<Times>(NONE);
  const [running, setRunning] = useState(false);
  const turn = useRef(0);
  const d = Number(width);
  const n = LENGTHS[at];
  const done = times.attention.length;
  useEffect(
    () =>
      tell({
        d,
        crossing: crossing(d, "recurrence") - 1,
        double: multiplications("attention", 2 * n, d) / multiplications("attention", n, d),
      }),
    [d, n],
  );
  useEffect(() => () => void turn.current++, []);
  const stop = () => {
    turn.current++;
    setRunning(false);
    setTimes(NONE);
  };
  const start = async () => {
    const mine = ++turn.current;
    setRunning(true);
    let found = NONE;
    for (const length of LENGTHS) {
      const next: Record<Part, readonly number[]> = { ...found };
      for (const part of PARTS) {
        await new Promise((go) => setTimeout(go)); // the page stays awake
        if (turn.current !== mine) return;
        next[part] = [...found[part], measure(part, length, d, () => performance.now())];
      }
      found = next;
      setTimes(found);
    }
    setRunning(false);
  };
  const counts = PARTS.map(
    (part, i): Line => ({
      id: part,
      label: say(`part_${part}`),
      colour: i + 1,
      dots: true,
      x: LENGTHS,
      y: LENGTHS.map((length) => multiplications(part, length, d)),
    }),
  );
  const { lines, ns } = timed(times, d);
  return (
    <Figure title={say("title")} table={() => chartTable([...counts, ...lines.filter((line) => line.dots)], "N")}>
      <div class="stack">
        <div class="row">
          <Segmented
            label={say("d")}
            value={width}
            onChange={(value: Width) => {
              stop();
              setWidth(value);
            }}
            choices={choices(WIDTHS, (value) => `d = ${value}`)}
          />
          <Slider label={say("n")} value={at} min={0} max={LENGTHS.length - 1} shown={String(n)} onChange={setAt} />
        </div>
        <h3>{say("at", { n, d })}</h3>
        <ol class="amounts cost" style={{ gridTemplateColumns: "minmax(32px, max-content) minmax(0, 1fr)" }}>
          {PARTS.map((part, i) => {
            const most = Math.max(...PARTS.map((one) => multiplications(one, n, d)));
            const value = multiplications(part, n, d);
            return (
              <li key={part}>
                <span class="of wide">{say(`part_${part}`)}</span>
                <span class={`amount term-${i + 1}`}>
                  <i style={{ "--from": "0%", "--size": `${(100 * value) / most}%` }} aria-hidden="true" />
                  <span>{short(value)}</span>
                </span>
              </li>
            );
          })}
        </ol>
        <h3>{say(done ? "time" : "count")}</h3>
        <LineChart
          name={say(done ? "time" : "count")}
          lines={done ? lines : counts}
          xLabel="N"
          logX
          log
          xTicks={LENGTHS.map((length) => ({ at: length, label: String(length) }))}
          formatY={(value) => (done ? `${number(Number(value.toPrecision(2)))} ${say("ms")}` : short(value))}
          flags={[{ x: n, text: `N = ${n}` }]}
          height={200}
        />
        <div class="row">
          <Button kind="primary" disabled={running} onClick={() => void start()}>
            {say("measure")}
          </Button>
          <span role="status" class="small muted">
            {running && say("measuring", { n: LENGTHS[Math.min(done, LENGTHS.length - 1)] })}
          </span>
        </div>
        <p class="small">
          {done === LENGTHS.length
            ? say("measured", { from: LENGTHS[3], to: LENGTHS[6], ns: fixed(ns, 2), ...powers(times) })
            : say("not_yet")}
        </p>
      </div>
    </Figure>
  );
}

/** Measured times, and the formula at the speed of the longest attention. */
function timed(times: Times, d: number): { lines: Line[]; ns: number } {
  const done = times.attention.length;
  if (!done) return { lines: [], ns: 0 };
  const x = LENGTHS.slice(0, done);
  const each = times.attention[done - 1] / multiplications("attention", x[done - 1], d);
  const lines = PARTS.flatMap((part, i): Line[] => [
    { id: `${part} ms`, label: say(`ms_${part}`), colour: i + 1, dots: true, x, y: times[part] },
    { id: part, label: say(`part_${part}`), colour: i + 1, dashed: true, x, y: x.map((n) => each * multiplications(part, n, d)) },
  ]);
  return { lines, ns: each * 1e6 };
}

/** The power of N by which each part grew over the upper half of the lengths. */
const powers = (times: Times) =>
  Object.fromEntries(PARTS.map((part) => [part, fixed(power([LENGTHS[3], LENGTHS[6]], [times[part][3], times[part][6]]), 1)]));
