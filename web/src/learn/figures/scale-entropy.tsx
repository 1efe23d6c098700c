/** Why √d_k: entropy of the weights of random queries and keys by their width, with and without the division. */
import { useEffect, useState } from "preact/hooks";
import type { Arch } from "../../api-types";
import { Button } from "../../components/controls";
import { Figure } from "../../components/Figure";
import { LineChart, chartTable, type Line } from "../../components/LineChart";
import { Loading } from "../../components/states";
import { fixed } from "../../lib/format";
import { largest } from "../../lib/matrix";
import { range } from "../../lib/range";
import { atWidth, KEYS, WIDTHS, type AtWidth } from "../../lib/scores";
import { Amounts, Slider } from "../parts";
import { Reveal } from "../Reveal";
import { wordsOf } from "../say";
import { scaleEntropy } from "../words/scale-entropy";
import type { FigureProps } from ".";

export const arch: readonly Arch[] = [];
const say = wordsOf(scaleEntropy);
const ASKED = 64;
const OPTIONS = [3.4, 2, 0.6, 0.1];

export default function ScaleEntropy({ tell }: Pick<FigureProps, "tell">) {
  const [seed, setSeed] = useState(1);
  const [at, setAt] = useState(WIDTHS.indexOf(ASKED));
  const [all, setAll] = useState<readonly AtWidth[] | null>(null);
  useEffect(() => {
    const timer = setTimeout(() => setAll(WIDTHS.map((d) => atWidth(d, seed))));
    return () => clearTimeout(timer);
  }, [seed]);
  useEffect(() => {
    if (!all) return;
    const of = (d: number) => all[WIDTHS.indexOf(d)];
    const ratio = of(64).spread / of(16).spread;
    const grows = nearest([1, 2, 4], ratio);
    tell({ narrow: of(16).spread, wide: of(64).spread, grows, raw: of(64).raw, scaled: of(64).scaled });
  }, [all]);
  const lines = all ? linesOf(all) : [];
  return (
    <Figure title={say("title")} table={() => chartTable(lines, "d_k")}>
      {all ? <Drawn all={all} lines={lines} at={at} onAt={setAt} onAgain={() => setSeed(seed + 1)} /> : <Loading height={420} />}
    </Figure>
  );
}

const nearest = (values: readonly number[], to: number): number =>
  largest(
    values.map((value) => -Math.abs(Math.log(value / to))),
    1,
  )[0];

const linesOf = (all: readonly AtWidth[]): Line[] =>
  (["raw", "scaled"] as const).map((id) => ({
    id,
    label: say(id),
    colour: id === "raw" ? 2 : 3,
    dashed: id === "scaled",
    dots: true,
    x: WIDTHS,
    y: all.map((one) => one[id]),
  }));

interface DrawnProps {
  all: readonly AtWidth[];
  lines: readonly Line[];
  at: number;
  onAt(at: number): void;
  onAgain(): void;
}

function Drawn({ all, lines, at, onAt, onAgain }: DrawnProps) {
  const asked = all[WIDTHS.indexOf(ASKED)];
  const now = all[at];
  return (
    <Reveal
      ask={say("ask", { keys: KEYS, full: Math.log2(KEYS) })}
      options={OPTIONS.map((value) => fixed(value, 1))}
      right={nearest(OPTIONS, asked.raw)}
      why={say("why", { raw: fixed(asked.raw, 2), scaled: fixed(asked.scaled, 2) })}
    >
      <div class="stack">
        <LineChart
          name={say("bits")}
          lines={lines}
          xLabel="d_k"
          logX
          xTicks={[1, 4, 16, 64, 256, 1024].map((d) => ({ at: d, label: String(d) }))}
          yRange={[0, Math.log2(KEYS)]}
          formatY={(bits) => fixed(bits, 2)}
          flags={[{ x: now.d, text: `d_k = ${now.d}` }]}
          height={160}
        />
        <div class="row">
          <Slider label={say("width")} value={at} min={0} max={WIDTHS.length - 1} shown={String(now.d)} onChange={onAt} />
          <Button onClick={onAgain}>{say("again")}</Button>
        </div>
        <p class="small muted">
          {say("slope", {
            spread: fixed(now.spread, 2),
            root: fixed(Math.sqrt(now.d), 2),
            raw: fixed(now.rawSlope, 2),
            scaled: fixed(now.scaledSlope, 2),
          })}
        </p>
        <h3>{say("one")}</h3>
        <Amounts
          most={8}
          rest={(n) => say("rest", { n })}
          labels={range(KEYS).map((n) => ({ text: say("key", { n: n + 1 }) }))}
          of={[
            { name: say("raw"), term: 2, values: now.row.raw, full: 1 },
            { name: say("scaled"), term: 3, values: now.row.scaled, full: 1 },
          ]}
        />
      </div>
    </Reveal>
  );
}
