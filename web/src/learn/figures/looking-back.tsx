/** One step of Luong attention: scores, weights and the mix, for each token that is written. */
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Arch } from "../../api-types";
import { Figure } from "../../components/Figure";
import { Await } from "../../components/states";
import { Tokens } from "../../components/Tokens";
import { fixed } from "../../lib/format";
import { largest, row } from "../../lib/matrix";
import { reach, type Head } from "../../screens/inside/head";
import { Amounts, Strip, useHead, type HeadOfText } from "../parts";
import { candidates, stepToAsk } from "../reckoning";
import { Reveal } from "../Reveal";
import { wordsOf } from "../say";
import { lookingBack } from "../words/looking-back";
import type { FigureProps } from ".";

export const arch: readonly Arch[] = ["luong"];
const say = wordsOf(lookingBack);

export default function LookingBack({ card, text, tell }: FigureProps) {
  const found = useHead(card, text, "cross");
  return (
    <Await of={found} height={420}>
      {(value) => <OneStep {...value} tell={tell} />}
    </Await>
  );
}

function OneStep({ manifest, head, tell }: HeadOfText & Pick<FigureProps, "tell">) {
  const asked = useMemo(() => stepToAsk(head), [head]);
  const [active, setActive] = useState<number | null>(null);
  const [locked, setLocked] = useState(asked);
  const step = active ?? locked;
  const best = largest(row(head.weights, asked), 1)[0];
  const options = useMemo(() => candidates(head, asked), [head]);
  const weights = row(head.weights, step);
  useEffect(() => tell({ source: head.cols.length, width: head.v.cols, steps: head.rows.length }), [head]);
  return (
    <Figure
      title={say("title")}
      table={() => ({
        head: [say("token"), say("score"), say("weight")],
        rows: head.cols.map((label, k) => [label.text, row(head.scores, step)[k], weights[k]]),
      })}
    >
      <Reveal
        ask={say("ask", { token: head.rows[asked].text, text: manifest.source.text })}
        options={options.map((k) => head.cols[k].text)}
        lang={manifest.source.lang}
        right={options.indexOf(best)}
        why={say("why", { weight: fixed(row(head.weights, asked)[best], 2) })}
      >
        <div class="stack">
          <p class="small muted">{say("pick")}</p>
          <Tokens
            name={say("target")}
            side={manifest.target}
            active={active}
            locked={locked}
            onActive={setActive}
            onLock={(token) => token !== null && setLocked(token)}
          />
          <Amounts
            labels={head.cols}
            on={largest(weights, 1)[0]}
            of={[
              { name: say("score"), term: 1, values: row(head.scores, step), decimals: 1 },
              { name: say("weight"), term: 2, values: weights, full: 1 },
            ]}
            rest={(n) => say("rest", { n })}
          />
          <Mix head={head} step={step} />
        </div>
      </Reveal>
    </Figure>
  );
}

/** c = α₁h₁ + α₂h₂ + …: the strongest states by themselves, all others together, and their sum. */
function Mix({ head, step }: { head: Head; step: number }) {
  const weights = row(head.weights, step);
  const strongest = largest(weights, 2);
  const left = 1 - strongest.reduce((sum, k) => sum + weights[k], 0);
  const context = row(head.context, step);
  const rest = context.map((value, d) => value - strongest.reduce((sum, k) => sum + weights[k] * row(head.v, k)[d], 0));
  const max = reach(head.v);
  return (
    <div>
      <h3>{say("mix")}</h3>
      <div class="mix">
        {strongest.map((k) => (
          <>
            <span>
              <b class="term-2">{fixed(weights[k], 2)}</b> × <span class="term-4">h</span>{" "}
              <bdi lang={head.cols[k].lang}>{head.cols[k].text}</bdi>
            </span>
            <Strip values={row(head.v, k)} max={max} name={say("state", { token: head.cols[k].text })} />
          </>
        ))}
        <span>
          <b class="term-2">{fixed(Math.max(0, left), 2)}</b> × {say("others")}
        </span>
        <Strip values={left > 1e-6 ? rest.map((value) => value / left) : rest} max={max} name={say("others")} />
        <hr />
        <span>
          = <b class="term-3">c</b>
        </span>
        <Strip values={context} max={max} name={say("context", { n: context.length })} />
      </div>
    </div>
  );
}
