/** Positions as waves: the whole table, one pair of dimensions as curves, and the answer without positions. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { getPositions } from "../../api";
import type { Arch, Card } from "../../api-types";
import { Figure } from "../../components/Figure";
import { Heatmap } from "../../components/Heatmap";
import { matrixTable } from "../../components/HeatmapFigure";
import { LineChart } from "../../components/LineChart";
import { Await, Loading } from "../../components/states";
import { useResource, useTraceOf } from "../../hooks";
import { fixed, number } from "../../lib/format";
import { fromRows, column } from "../../lib/matrix";
import { wavelength } from "../../lib/positions";
import { range } from "../../lib/range";
import { Slider, trouble } from "../parts";
import { fateOf, sinusoids } from "../reckoning";
import { Reveal } from "../Reveal";
import { wordsOf } from "../say";
import { wavesWords } from "../words/waves";
import type { FigureProps } from ".";

export const arch: readonly Arch[] = ["transformer"];
const say = wordsOf(wavesWords);
const POSITIONS = 32;
const ASKED = 3;

export default function Waves({ card, text, tell }: FigureProps) {
  const found = useResource(
    `positions ${card.fingerprint} ${card.name} ${POSITIONS}`,
    (signal) => getPositions(card.name, POSITIONS, signal),
    { cache: true },
  );
  return (
    <Await of={found} height={480}>
      {({ positions, rows }) => {
        const own = positions === "sinusoidal" && rows !== null && rows.length > ASKED;
        return (
          <Pictures
            card={card}
            text={text}
            tell={tell}
            rows={own ? rows : sinusoids(POSITIONS, card.d_model)}
            other={own ? null : (positions ?? "none")}
          />
        );
      }}
    </Await>
  );
}

interface PicturesProps extends FigureProps {
  rows: readonly (readonly number[])[];
  other: string | null;
}

function Pictures({ card, text, tell, rows, other }: PicturesProps) {
  const table = useMemo(() => fromRows(rows), [rows]);
  const [pair, setPair] = useState(0);
  const places = rows.map((_, p) => String(p));
  const dimensions = range(table.cols).map(String);
  useEffect(() => tell({ position: ASKED, value: rows[ASKED][0] }), [rows]);
  const x = range(table.rows);
  const lines = useMemo(
    () => [
      { id: "sin", label: say("sine", { n: 2 * pair }), colour: 1, x, y: Array.from(column(table, 2 * pair)) },
      { id: "cos", label: say("cosine", { n: 2 * pair + 1 }), colour: 2, x, y: Array.from(column(table, 2 * pair + 1)), dashed: true },
    ],
    [table, pair],
  );
  return (
    <Figure
      title={say("title")}
      table={() =>
        matrixTable(
          table,
          places.map((n) => ({ text: say("position", { n }) })),
          dimensions.map((n) => ({ text: say("dimension", { n }) })),
        )
      }
    >
      {other && <p class="note">{say("formula_only", { positions: other })}</p>}
      <Heatmap
        name={say("title")}
        matrix={table}
        rows={places}
        cols={dimensions}
        scale={{ signed: true, max: 1 }}
        format={(value) => fixed(value, 1)}
        free
        maxHeight={220}
      />
      <Slider label={say("pair")} value={pair} min={0} max={Math.floor(table.cols / 2) - 1} onChange={setPair} />
      <LineChart name={say("chart")} lines={lines} xLabel={say("x")} yRange={[-1, 1]} height={150} />
      <p class="note">{say("length", { n: number(Number(wavelength(2 * pair, table.cols).toPrecision(3))) })}</p>
      <WithoutOrder card={card} text={text} />
    </Figure>
  );
}

function WithoutOrder({ card, text }: { card: Card; text: string }) {
  const before = useTraceOf({ model: card.name, text });
  const after = useTraceOf({ model: card.name, text, interventions: [{ op: "positions", mode: "none", side: "source" }] });
  const failed = trouble(before, after);
  if (failed) return failed;
  if (!before.value || !after.value) return <Loading height={100} />;
  const [was, is] = [before.value.target.text, after.value.target.text];
  return (
    <Reveal
      ask={say("ask", { text, answer: was })}
      options={[say("same"), say("shuffled"), say("broken")]}
      right={fateOf(was, is)}
      why={say("why", { text: is })}
    >
      {null}
    </Reveal>
  );
}
