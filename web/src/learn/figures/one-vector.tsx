/** The states of a recurrent encoder, and the one vector that the decoder starts from; swapped for that of another sentence. */
import { useEffect } from "preact/hooks";
import type { Arch, Manifest } from "../../api-types";
import { Figure } from "../../components/Figure";
import { Loading } from "../../components/states";
import { useTensors, useTraceOf } from "../../hooks";
import { row, type Matrix } from "../../lib/matrix";
import { range } from "../../lib/range";
import { asMatrix, labelsOf, reach } from "../../screens/inside/head";
import { TEXTS } from "../chapters";
import { Strip, trouble } from "../parts";
import { Reveal } from "../Reveal";
import { wordsOf } from "../say";
import { oneVector } from "../words/one-vector";
import type { FigureProps } from ".";

export const arch: readonly Arch[] = ["rnn"];
const say = wordsOf(oneVector);
const MOST = 14;

export default function OneVector({ card, text, tell }: FigureProps) {
  const dates = card.target_language.startsWith("iso");
  const other = dates ? TEXTS.other : (card.examples.find((one) => one !== text) ?? text);
  const ask = (more: string) => ({ model: card.name, text: more });
  const [mine, theirs] = [useTraceOf(ask(text)), useTraceOf(ask(other))];
  const swapped = useTraceOf({ ...ask(text), interventions: [{ op: "bridge", mode: "swap", text: other }] });
  const tensors = useTensors(mine.value?.id, ["rnn.encoder", "rnn.bridge"]);
  const [encoder, bridge] = ["rnn.encoder", "rnn.bridge"].map((need) => tensors.value?.get(need)).map((one) => one && asMatrix(one));
  useEffect(() => {
    if (encoder && bridge)
      tell({ source: encoder.rows, width: encoder.cols, all: encoder.rows * encoder.cols, crosses: bridge.rows * bridge.cols });
  }, [tensors.value]);
  const failed = trouble(mine, theirs, swapped, tensors);
  if (failed) return failed;
  if (!mine.value || !theirs.value || !swapped.value || !encoder || !bridge) return <Loading height={420} />;
  const written = swapped.value.target.text;
  const expected = [mine.value.target.text, theirs.value.target.text];
  const found = expected.indexOf(written);
  const options = [...expected, say("mixture"), ...(found < 0 ? [say("something", { text: written })] : [])];
  return (
    <Figure
      title={say("title")}
      table={() => ({
        head: ["", ...range(encoder.cols).map((n) => say("dimension", { n: n + 1 }))],
        rows: labelsOf(mine.value!.source).map((label, k) => [label.text, ...row(encoder, k)]),
      })}
    >
      <Reveal
        ask={say("ask", { text, other })}
        options={options.slice(0, 3)}
        right={found < 0 ? 2 : found}
        why={`${say("writes", { text: written })}. ${say("why")}`}
      >
        <States manifest={mine.value} encoder={encoder} bridge={bridge} />
      </Reveal>
    </Figure>
  );
}

/** A strip for each state, then the strips that cross. */
function States({ manifest, encoder, bridge }: { manifest: Manifest; encoder: Matrix; bridge: Matrix }) {
  const labels = labelsOf(manifest.source);
  const left = Math.max(0, encoder.rows - MOST);
  const max = reach(encoder);
  return (
    <div class="stack">
      <div>
        <h3 class="term-4">{say("states")}</h3>
        <div class="mix">
          {labels.slice(left).map((label, i) => (
            <>
              <bdi lang={label.lang}>{label.text}</bdi>
              <Strip values={row(encoder, left + i)} max={max} name={say("after", { token: label.text })} />
            </>
          ))}
        </div>
        {left > 0 && <p class="note">{say("rest", { n: left })}</p>}
        {manifest.rnn?.bidirectional && <p class="note">{say("both")}</p>}
      </div>
      <div>
        <h3 class="term-3">{say("vector", { n: bridge.rows * bridge.cols })}</h3>
        <div class="mix">
          {range(bridge.rows).map((n) => (
            <>
              <span>{"hc"[n % 2] ?? ""}</span>
              <Strip values={row(bridge, n)} max={reach(bridge)} name={say("part", { n: n + 1 })} />
            </>
          ))}
        </div>
        <p class="note">{say("writes", { text: manifest.target.text })}</p>
      </div>
    </div>
  );
}
