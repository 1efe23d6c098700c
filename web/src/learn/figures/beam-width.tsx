/** The search as a tree, with a beam as wide as the reader likes. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { getBeam } from "../../api";
import type { Arch, BeamDocument, Manifest } from "../../api-types";
import { Figure } from "../../components/Figure";
import { Loading } from "../../components/states";
import { useResource, useTraceOf } from "../../hooks";
import { t } from "../../i18n";
import { fixed } from "../../lib/format";
import { limbsOf, stepsOf } from "../../lib/tree";
import { Tree } from "../../screens/beam_parts/Tree";
import { Slider, trouble } from "../parts";
import { lengthPenalty } from "../reckoning";
import { Reveal } from "../Reveal";
import { wordsOf } from "../say";
import { beamWidth } from "../words/beam-width";
import type { FigureProps } from ".";
import "../../styles/beam.css";
import "./beam-width.css";

export const arch: readonly Arch[] = ["rnn", "luong", "transformer"];
const say = wordsOf(beamWidth);
const WIDEST = 6;

export default function BeamWidth({ card, text, tell }: FigureProps) {
  const [width, setWidth] = useState(4);
  const ask = (beam: number) => ({ model: card.name, text, beam });
  const [greedy, wide, now] = [useTraceOf(ask(1)), useTraceOf(ask(4)), useTraceOf(ask(width))];
  const id = now.value?.id;
  const beam = useResource<BeamDocument>(id ? `beam tree ${id}` : null, (signal) => getBeam(id!, signal), { cache: true });
  useEffect(() => {
    if (wide.value) tell({ tokens: wide.value.steps.length, penalty: lengthPenalty(wide.value.steps.length) });
  }, [wide.value]);
  const failed = trouble(greedy, wide, now, beam);
  if (failed) return failed;
  if (!greedy.value || !wide.value || !now.value || !beam.value) return <Loading height={480} />;
  const [before, after] = [greedy.value, wide.value];
  const better = after.target.text !== before.target.text;
  const args = { text: after.target.text, before: fixed(before.decode.score ?? NaN, 2), after: fixed(after.decode.score ?? NaN, 2) };
  return (
    <Figure
      title={say("title")}
      table={() => ({
        head: [say("step"), say("token"), say("score"), say("state")],
        rows: beam
          .value!.nodes.filter((node) => node.t >= 0)
          .map((node) => [node.t + 1, node.text, node.score, t(`beam.state_${node.state}`)]),
      })}
    >
      <Reveal
        ask={say("ask", { text, greedy: before.target.text })}
        options={[say("yes"), say("no")]}
        right={better ? 0 : 1}
        why={say("why", args)}
      >
        <Search manifest={now.value} tree={beam.value} width={width} setWidth={setWidth} />
      </Reveal>
    </Figure>
  );
}

interface SearchProps {
  manifest: Manifest;
  tree: BeamDocument;
  width: number;
  setWidth(width: number): void;
}

function Search({ manifest, tree, width, setWidth }: SearchProps) {
  const [selected, setSelected] = useState<number | null>(null);
  const limbs = useMemo(() => limbsOf(tree), [tree]);
  const found = { beam: tree.beam, text: manifest.target.text, score: fixed(manifest.decode.score ?? NaN, 2) };
  return (
    <div class="stack beam beam-small">
      <Slider label={say("width")} value={width} min={1} max={WIDEST} onChange={setWidth} />
      <p role="status">{say("found", found)}</p>
      <Tree tree={tree} limbs={limbs} lang={manifest.target.lang} step={stepsOf(tree)} selected={selected} onSelect={setSelected} />
    </div>
  );
}
