/** The softmax of a real row of scores, which the reader may stretch and shift. */
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Arch } from "../../api-types";
import { Figure } from "../../components/Figure";
import { Await } from "../../components/states";
import { softmax } from "../../lib/arithmetic";
import { fixed } from "../../lib/format";
import { entropy, largest, row } from "../../lib/matrix";
import type { Head } from "../../screens/inside/head";
import { Amounts, lastHead, Slider, useHead } from "../parts";
import { pairNearOne, softestRow } from "../reckoning";
import { Reveal } from "../Reveal";
import { wordsOf } from "../say";
import { softmaxWords } from "../words/softmax";
import type { FigureProps } from ".";

export const arch: readonly Arch[] = ["transformer", "luong"];
const say = wordsOf(softmaxWords);

export default function Softmax({ card, text, tell }: FigureProps) {
  const at = lastHead(card, "cross");
  const found = useHead(card, text, "cross", 0, 0);
  return (
    <Await of={found} height={460}>
      {({ head }) => <Row head={head} place={{ layer: 1, head: at.head + 1 }} tell={tell} />}
    </Await>
  );
}

function Row({ head, place, tell }: { head: Head; place: { layer: number; head: number } } & Pick<FigureProps, "tell">) {
  const [times, setTimes] = useState(1);
  const [plus, setPlus] = useState(0);
  const q = useMemo(() => softestRow(head.weights), [head]);
  const scores = row(head.placed, q);
  const now = Float64Array.from(scores, (score) => times * score + plus);
  const weights = softmax(now);
  const top = Math.max(...now);
  const [before, after] = [entropy(softmax(scores)), entropy(softmax(Float64Array.from(scores, (score) => 2 * score)))];
  useEffect(() => {
    const letters = (k: number) => /[\p{L}\p{N}]/u.test(head.cols[k].text) && !head.cols[k].text.startsWith("<");
    const [a, b] = pairNearOne(scores, letters);
    const names = { token_a: head.cols[a].text, token_b: head.cols[b].text };
    tell({ ...names, score_a: scores[a], score_b: scores[b], ratio: Math.exp(scores[a] - scores[b]) });
  }, [head]);
  const options = [say("same"), say("flatter"), say("sharper")];
  return (
    <Figure
      title={say("title")}
      table={() => ({
        head: [say("token"), say("score"), say("exp"), say("weight")],
        rows: head.cols.map((label, k) => [label.text, now[k], Math.exp(now[k] - top), weights[k]]),
      })}
    >
      <p class="small muted">{say("row", { token: head.rows[q].text, ...place })}</p>
      <Reveal
        ask={say("ask")}
        options={options}
        right={Math.abs(before - after) < 1e-9 ? 0 : after > before ? 1 : 2}
        why={say("why", { before: fixed(before, 2), after: fixed(after, 2) })}
      >
        <div class="stack">
          <Slider label={say("times")} value={times} min={0} max={4} step={0.25} shown={`× ${fixed(times, 2)}`} onChange={setTimes} />
          <Slider
            label={say("plus")}
            value={plus}
            min={-5}
            max={5}
            step={0.5}
            shown={`${plus < 0 ? "−" : "+"} ${fixed(Math.abs(plus), 1)}`}
            onChange={setPlus}
          />
          <Amounts
            labels={head.cols}
            on={largest(weights, 1)[0]}
            of={[
              { name: say("score"), term: 1, values: now },
              { name: say("exp"), term: 2, values: now.map((score) => Math.exp(score - top)), full: 1 },
              { name: say("weight"), term: 3, values: weights, full: 1 },
            ]}
            rest={(n) => say("rest", { n })}
          />
          <p role="status">{say("entropy", { bits: fixed(entropy(weights), 2), n: fixed(2 ** entropy(weights), 1) })}</p>
        </div>
      </Reveal>
    </Figure>
  );
}
