/** All heads as small pictures, one of them large, and what the answer loses without each. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { whatIf } from "../../api";
import type { Arch, Card, Manifest, WhatIfOut } from "../../api-types";
import { Figure } from "../../components/Figure";
import { Heatmap } from "../../components/Heatmap";
import { matrixTable } from "../../components/HeatmapFigure";
import { Await, Loading } from "../../components/states";
import { Thumbnails, type Thumb } from "../../components/Thumbnails";
import { useResource, useTensors, useTraceOf } from "../../hooks";
import { fixed, number } from "../../lib/format";
import { shorten } from "../../lib/labels";
import { fromAtlas } from "../../lib/matrix";
import { range } from "../../lib/range";
import type { Tensor } from "../../lib/safetensors";
import { labelsOf } from "../../screens/inside/head";
import { lastHead, trouble } from "../parts";
import { headsToAsk } from "../reckoning";
import { Reveal } from "../Reveal";
import { wordsOf } from "../say";
import { manyHeads } from "../words/many-heads";
import type { FigureProps } from ".";

export const arch: readonly Arch[] = ["transformer"];
const say = wordsOf(manyHeads);

export default function ManyHeads({ card, text, tell }: FigureProps) {
  const trace = useTraceOf({ model: card.name, text });
  const tensors = useTensors(trace.value?.id, ["cross.atlas"]);
  useEffect(() => {
    const { heads, d_head: d } = card.kinds.cross!;
    tell({ heads, width: card.d_model, d });
  }, [card.name]);
  const failed = trouble(trace);
  if (failed) return failed;
  return (
    <Await of={tensors} height={420}>
      {(found) => {
        const atlas = found.get("cross.atlas");
        return atlas && trace.value ? <Grid card={card} manifest={trace.value} atlas={atlas} /> : <Loading height={420} />;
      }}
    </Await>
  );
}

function Grid({ card, manifest, atlas }: { card: Card; manifest: Manifest; atlas: Tensor }) {
  const { layers, heads } = card.kinds.cross!;
  const last = lastHead(card, "cross");
  const [at, setAt] = useState(`${last.layer}.${last.head}`);
  const thumbs = useMemo<Thumb[]>(
    () =>
      range(layers).flatMap((layer) =>
        range(heads).map((head) => ({
          key: `${layer}.${head}`,
          row: layer,
          col: head,
          name: say("name", { layer: layer + 1, head: head + 1 }),
          matrix: fromAtlas(atlas, layer, head),
        })),
      ),
    [atlas],
  );
  const shown = thumbs.find((thumb) => thumb.key === at)!;
  const [rows, cols] = useMemo(() => [labelsOf(manifest.target), labelsOf(manifest.source)], [manifest]);
  return (
    <Figure title={say("title")} table={() => matrixTable(shown.matrix, rows, cols)}>
      <p class="small muted">{say("choose")}</p>
      <Thumbnails
        name={say("heads")}
        thumbs={thumbs}
        rows={range(layers).map((n) => say("layer", { n: n + 1 }))}
        cols={range(heads).map((n) => String(n + 1))}
        selected={[at]}
        onSelect={setAt}
        scale={{ sqrt: true }}
        rtl={manifest.source.dir === "rtl"}
      />
      <h3>{shown.name}</h3>
      <Heatmap
        name={shown.name}
        matrix={shown.matrix}
        rows={rows}
        cols={cols}
        maxCell={26}
        maxHeight={300}
        rtl={manifest.source.dir === "rtl"}
      />
      <Silenced card={card} manifest={manifest} layer={last.layer} heads={heads} />
    </Figure>
  );
}

/** Heads of the last layer, silenced alone, one after the other, once the reader has made a prediction. */
function Silenced({ card, manifest, layer, heads }: { card: Card; manifest: Manifest; layer: number; heads: number }) {
  const [asked, setAsked] = useState(false);
  const some = headsToAsk(heads);
  const found = useResource<WhatIfOut[]>(
    asked ? `silenced ${manifest.id}` : null,
    async (signal) => {
      const all: WhatIfOut[] = [];
      for (const head of some) {
        const op = { op: "mask_head" as const, kind: "cross" as const, layer, head };
        all.push(await whatIf({ model: card.name, text: manifest.source.text, interventions: [op] }, signal));
      }
      return all;
    },
    { cache: true },
  );
  const failed = trouble(found);
  if (failed) return failed;
  const left = (found.value ?? []).map((one) => one.baseline_logprob_under_edit);
  const right = left.length > 0 ? left.indexOf(Math.min(...left)) : null;
  const size = (logprob: number) => (Math.abs(logprob) < 1e-4 ? fixed(logprob, 4) : number(Number(logprob.toPrecision(2))));
  const name = (n: number) => say("head", { n: some[n] + 1 });
  return (
    <Reveal
      ask={say("ask", { layer: layer + 1, answer: shorten(manifest.target.text, 60) })}
      options={some.map((_, n) => name(n))}
      right={right}
      onGuess={() => setAsked(true)}
      why={right !== null && say("why", { before: size(manifest.decode.score ?? NaN), after: size(left[right]) })}
    >
      <table class="data">
        <thead>
          <tr>
            <th scope="col">{say("heads")}</th>
            <th scope="col" class="num term-2">
              {say("without")}
            </th>
            <th scope="col">{say("writes")}</th>
          </tr>
        </thead>
        <tbody>
          {found.value?.map((one, n) => (
            <tr key={n}>
              <th scope="row">{name(n)}</th>
              <td class="num">{size(left[n])}</td>
              <td lang={manifest.target.lang}>{shorten(one.edited.text, 60)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Reveal>
  );
}
