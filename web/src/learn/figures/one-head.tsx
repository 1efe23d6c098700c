/** One head at work: a query against every key, the weights, and the values they mix. */
import { useEffect, useState } from "preact/hooks";
import type { Arch, Card, Manifest, TraceSide } from "../../api-types";
import { Figure } from "../../components/Figure";
import { Await } from "../../components/states";
import { Tokens } from "../../components/Tokens";
import { fixed } from "../../lib/format";
import { largest, row } from "../../lib/matrix";
import { chosenOf, reach, type Head } from "../../screens/inside/head";
import { Amounts, HeadPicker, lastHead, Strip, useHead } from "../parts";
import { wordsOf } from "../say";
import { oneHead } from "../words/one-head";
import type { FigureProps } from ".";

export const arch: readonly Arch[] = ["transformer"];
const say = wordsOf(oneHead);

export default function OneHead({ card, text, tell }: FigureProps) {
  const [at, setAt] = useState(lastHead(card, "cross"));
  const first = useHead(card, text, "cross");
  const found = useHead(card, text, at.kind, at.layer, at.head);
  useEffect(() => {
    if (!first.value) return;
    const { head } = first.value;
    const { q, k } = chosenOf({}, head);
    const cell = q * head.scores.cols + k;
    const names = { query: head.rows[q].text, key: head.cols[k].text };
    tell({ ...names, d: head.d, score: head.scores.data[cell], scaled: head.scaled.data[cell] });
  }, [first.value?.head]);
  return (
    <Await of={found} height={520}>
      {({ manifest, head }) => <Look {...{ card, manifest, head, at, setAt }} />}
    </Await>
  );
}

interface LookProps {
  card: Card;
  manifest: Manifest;
  head: Head;
  at: ReturnType<typeof lastHead>;
  setAt(at: ReturnType<typeof lastHead>): void;
}

function Look({ card, manifest, head, at, setAt }: LookProps) {
  const [locked, setLocked] = useState<number | null>(null);
  const [active, setActive] = useState<number | null>(null);
  const chosen = active ?? locked ?? chosenOf({}, head).q;
  const q = Math.min(chosen, head.rows.length - 1);
  const asks = (manifest as unknown as Readonly<Record<string, TraceSide>>)[manifest.attention[at.kind]!.q];
  const weights = row(head.weights, q);
  const best = largest(weights, 1)[0];
  const masked = row(head.placed, q).map((score, k) => (head.mask[q * head.cols.length + k] ? score : -Infinity));
  const max = reach(head.q, head.k);
  const key = head.cols[best];
  return (
    <Figure
      title={say("title")}
      table={() => ({
        head: [say("token"), say("product"), say("scaled"), say("weight")],
        rows: head.cols.map((label, k) => [label.text, row(head.scores, q)[k], masked[k], weights[k]]),
      })}
    >
      <HeadPicker card={card} kinds={["cross", "enc_self", "dec_self"]} at={at} onChange={setAt} />
      <div>
        <p class="small muted">{say("query")}</p>
        <Tokens
          name={say("asks")}
          side={asks}
          active={active}
          locked={q}
          onActive={setActive}
          onLock={(token) => token !== null && setLocked(token)}
        />
      </div>
      <Amounts
        labels={head.cols}
        on={best}
        of={[
          { name: say("scaled"), term: 6, values: masked },
          { name: say("weight"), term: 2, values: weights, full: 1 },
        ]}
        rest={(n) => say("rest", { n })}
      />
      <p>{say("strongest", { token: key.text, weight: fixed(weights[best], 2) })}</p>
      <div>
        <h3>{say("strips", { d: head.d })}</h3>
        <div class="mix">
          <b class="term-1">q</b>
          <Strip values={row(head.q, q)} max={max} name={say("q_of", { token: head.rows[q].text })} />
          <span>
            <b class="term-4">k</b> <bdi lang={key.lang}>{key.text}</bdi>
          </span>
          <Strip values={row(head.k, best)} max={max} name={say("k_of", { token: key.text })} />
          <span>
            <b class="term-5">v</b> <bdi lang={key.lang}>{key.text}</bdi>
          </span>
          <Strip values={row(head.v, best)} max={reach(head.v)} name={say("v_of", { token: key.text })} />
          <hr />
          <b class="term-3">{say("result")}</b>
          <Strip values={row(head.context, q)} max={reach(head.v)} name={say("result")} />
        </div>
      </div>
    </Figure>
  );
}
