/** Self-attention of the decoder with its mask: nothing above the diagonal. */
import { useState } from "preact/hooks";
import type { Arch, Card } from "../../api-types";
import { HeatmapFigure } from "../../components/HeatmapFigure";
import { Await } from "../../components/states";
import type { Head } from "../../screens/inside/head";
import { HeadPicker, lastHead, Slider, useHead } from "../parts";
import { wordsOf } from "../say";
import { maskWords } from "../words/mask";
import type { FigureProps } from ".";

export const arch: readonly Arch[] = ["transformer"];
const say = wordsOf(maskWords);

export default function Mask({ card, text }: FigureProps) {
  const [at, setAt] = useState(lastHead(card, "dec_self"));
  const found = useHead(card, text, "dec_self", at.layer, at.head);
  return (
    <Await of={found} height={420}>
      {({ head, manifest }) => (
        <Steps card={card} head={head} at={at} setAt={setAt} writes={manifest.target.tokens.map((token) => token.text)} />
      )}
    </Await>
  );
}

interface StepsProps {
  card: Card;
  head: Head;
  at: ReturnType<typeof lastHead>;
  setAt(at: ReturnType<typeof lastHead>): void;
  writes: readonly string[];
}

function Steps({ card, head, at, setAt, writes }: StepsProps) {
  const last = head.rows.length - 1;
  const [step, setStep] = useState(Math.min(2, last));
  const q = Math.min(step, last);
  const seen = head.mask.slice(q * head.cols.length, (q + 1) * head.cols.length).filter(Boolean).length;
  return (
    <HeatmapFigure
      title={say("title")}
      matrix={head.weights}
      mask={head.mask}
      rows={head.rows}
      cols={head.cols}
      locked={{ row: q, col: q }}
      onLock={(cell) => cell && setStep(cell.row)}
      maxCell={30}
      maxHeight={340}
      before={
        <>
          <HeadPicker card={card} kinds={["dec_self"]} at={at} onChange={setAt} />
          <Slider label={say("step")} value={q + 1} min={1} max={last + 1} shown={writes[q] ?? ""} onChange={(n) => setStep(n - 1)} />
        </>
      }
      caption={say("sees", { token: writes[q] ?? "", n: seen, hidden: head.cols.length - seen })}
    />
  );
}
