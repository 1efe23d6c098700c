/** Why one pass can train all steps at once: a row is the same whether the tokens after it are there or not. */
import { useState } from "preact/hooks";
import type { Arch, Card } from "../../api-types";
import { Figure } from "../../components/Figure";
import { Heatmap } from "../../components/Heatmap";
import { Await } from "../../components/states";
import { number } from "../../lib/format";
import { labelsFor, needOf, placeOf, type Pass } from "../../lib/forward";
import { gridOf } from "../../lib/forward";
import { labelOf } from "../../lib/heatmap";
import { row, type Matrix } from "../../lib/matrix";
import { reach } from "../../screens/inside/head";
import { useTensors } from "../../hooks";
import { Slider, Strip, useGrids, usePass } from "../parts";
import { Reveal } from "../Reveal";
import { wordsOf } from "../say";
import { decoderRow } from "../words/decoder-row";
import type { FigureProps } from ".";

export const arch: readonly Arch[] = ["transformer"];
const say = wordsOf(decoderRow);

export default function UnseenFuture({ card, text }: FigureProps) {
  const pass = usePass(card, text);
  return (
    <Await of={pass} height={420}>
      {(found) => <Both card={card} text={text} pass={found} />}
    </Await>
  );
}

/** What the decoder hands to W_out: the last row before the logits. */
const outOf = (pass: Pass): number => pass.tensors[pass.tensors.findIndex((one) => one.operation.startsWith("logits"))].inputs[0];

/** The text of the first `count` tokens of the answer. */
export function beginning(pass: Pass, count: number): string {
  const end = pass.target.tokens[count - 1]?.span?.[1] ?? 0;
  return [...pass.target.text].slice(0, end).join("");
}

function Both({ card, text, pass }: { card: Card; text: string; pass: Pass }) {
  const last = pass.target.tokens.filter((token) => token.span !== null).length;
  const [step, setStep] = useState(Math.max(1, Math.min(4, last - 1)));
  const shorter = usePass(card, text, beginning(pass, step));
  const ids = (one: Pass) => one.target.tokens.slice(0, step).map((token) => token.id);
  const other = shorter.value;
  const fits = other !== null && ids(other).join() === ids(pass).join() && other.target.tokens.length === step + 1;
  const whole = useGrids(pass, [outOf(pass)]);
  const part = useGrids(fits ? other : null, [fits ? outOf(other) : 0]);
  const token = pass.target.tokens[step];
  const difference = whole && part && part[0].rows > step ? gap(whole[0], part[0], step) : null;
  return (
    <Figure title={say("future")} table={() => tableOf(whole?.[0], part?.[0], step)}>
      <div class="stack">
        <Slider
          label={say("step")}
          value={step}
          min={1}
          max={Math.max(1, last - 1)}
          shown={`${step + 1}: ${token.text}`}
          onChange={setStep}
        />
        {shorter.status === "ready" && !fits && <p class="small muted">{say("cannot")}</p>}
        {whole && difference !== null && (
          <Reveal
            key={pass.id}
            ask={say("ask", { n: pass.target.tokens.length, token: token.text, known: step })}
            options={[say("differ"), say("equal")]}
            right={difference < 1e-4 ? 1 : 0}
            why={say("why", { most: number(difference) })}
          >
            <div class="stack">
              <p class="small muted">{say("training", { n: pass.target.tokens.length })}</p>
              <Strip values={row(whole[0], step)} max={reach(whole[0])} name={say("training", { n: pass.target.tokens.length })} />
              <p class="small muted">{say("inference", { n: step })}</p>
              <Strip values={row(part![0], step)} max={reach(whole[0])} name={say("inference", { n: step })} />
              <p role="status">{say("difference", { n: whole[0].cols, most: number(difference) })}</p>
            </div>
          </Reveal>
        )}
        <Masked pass={pass} step={step} />
      </div>
    </Figure>
  );
}

const gap = (a: Matrix, b: Matrix, at: number): number =>
  Math.max(...Array.from(row(a, at), (value, d) => Math.abs(value - row(b, at)[d])));

const tableOf = (a: Matrix | undefined, b: Matrix | undefined, at: number) => ({
  head: ["", say("training", { n: a?.rows ?? 0 }), say("inference", { n: at })],
  rows: a && b && b.rows > at ? Array.from(row(a, at), (value, d) => [String(d + 1), value, row(b, at)[d]]) : [],
});

/** The weights of the first head; rows that do not exist yet at this step of inference are faint. */
function Masked({ pass, step }: { pass: Pass; step: number }) {
  const place = pass.tensors.findIndex((one) => one.stage === "decoder layer 1" && one.how === "softmax");
  const needs = [needOf(place, 0), needOf(placeOf(pass, "decoder layer 1", "masked self-attention: mask"))];
  const tensors = useTensors(pass.id, needs);
  const [weights, mask] = needs.map((need) => tensors.value?.get(need));
  if (!weights || !mask) return null;
  const grid = gridOf(weights);
  const rows = labelsFor(pass, "T", grid.rows).map((label, r) => ({ ...labelOf(label), dim: r > step }));
  return (
    <Heatmap
      name={say("weights")}
      matrix={grid}
      mask={gridOf(mask).data}
      rows={rows}
      cols={labelsFor(pass, "T", grid.cols, true)}
      scale={{ sqrt: true }}
      maxCell={28}
      maxHeight={300}
    />
  );
}
