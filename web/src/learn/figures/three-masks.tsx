/** Encoder only, decoder only, both: three masks over the same tokens, with the weights that the model at hand has under them. */
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Arch, Card, Kind, Manifest } from "../../api-types";
import { choices, Segmented } from "../../components/controls";
import { HeatmapFigure } from "../../components/HeatmapFigure";
import { Loading } from "../../components/states";
import { useTensors, useTraceOf } from "../../hooks";
import { fixed } from "../../lib/format";
import { FAMILY, maskOf, underMask, type Member, type Weights } from "../../lib/masks";
import { extent } from "../../lib/matrix";
import { asMatrix, labelsOf } from "../../screens/inside/head";
import { HeadPicker, lastHead, Slider, trouble, type HeadPlace } from "../parts";
import { wordsOf } from "../say";
import { threeMasks } from "../words/three-masks";
import type { FigureProps } from ".";

export const arch: readonly Arch[] = ["transformer"];
const say = wordsOf(threeMasks);
const KINDS = ["enc_self", "dec_self", "cross"] as const satisfies readonly Kind[];

export default function ThreeMasks({ card, text, tell }: FigureProps) {
  const [at, setAt] = useState<HeadPlace>(lastHead(card, "cross"));
  const trace = useTraceOf({ model: card.name, text });
  const needs = KINDS.map((kind) => {
    const size = card.kinds[kind];
    return `${kind}.weights:${Math.min(at.layer, (size?.layers ?? 1) - 1)}.${Math.min(at.head, (size?.heads ?? 1) - 1)}`;
  });
  const tensors = useTensors(trace.value?.id, needs);
  const weights = useMemo((): Weights | null => {
    const [encoder, decoder, cross] = needs.map((need) => tensors.value?.get(need));
    return encoder && decoder && cross ? { encoder: asMatrix(encoder), decoder: asMatrix(decoder), cross: asMatrix(cross) } : null;
  }, [tensors.value]);
  const failed = trouble(trace, tensors);
  if (failed) return failed;
  if (!trace.value || !weights) return <Loading height={460} />;
  return <Masks card={card} manifest={trace.value} weights={weights} at={at} setAt={setAt} tell={tell} />;
}

interface MasksProps extends Pick<FigureProps, "tell"> {
  card: Card;
  manifest: Manifest;
  weights: Weights;
  at: HeadPlace;
  setAt(at: HeadPlace): void;
}

function Masks({ card, manifest, weights, at, setAt, tell }: MasksProps) {
  const [member, setMember] = useState<Member>("both");
  const labels = useMemo(() => [...labelsOf(manifest.source), ...labelsOf(manifest.target_in)], [manifest]);
  const [source, target] = [weights.encoder.rows, weights.decoder.rows];
  const n = source + target;
  const [row, setRow] = useState(source);
  const q = Math.min(row, n - 1);
  const mask = useMemo(() => maskOf(member, source, target), [member, source, target]);
  const pairs = (one: Member) => maskOf(one, source, target).reduce((sum, value) => sum + value, 0);
  const seen = mask.subarray(q * n, (q + 1) * n).reduce((sum, value) => sum + value, 0);
  useEffect(() => tell({ n, source, target, encoder: pairs("encoder"), decoder: pairs("decoder"), both: pairs("both") }), [n, source]);
  const matrix = useMemo(() => underMask(member, weights), [member, weights]);
  const above = { encoder: aboveDiagonal(weights.encoder), decoder: aboveDiagonal(weights.decoder), both: 0 }[member];
  return (
    <HeatmapFigure
      title={say("title")}
      matrix={matrix}
      mask={mask}
      rows={labels}
      cols={labels}
      scale={{ max: Math.max(1e-9, extent(matrix.data)[1]) }}
      locked={{ row: q, col: q }}
      onLock={(cell) => cell && setRow(cell.row)}
      maxCell={24}
      maxHeight={420}
      before={
        <div class="stack">
          <Segmented
            label={say("family")}
            value={member}
            onChange={(one: Member) => setMember(one)}
            choices={choices(FAMILY, (one) => say(one))}
          />
          <p class="small">{say(`for_${member}`)}</p>
          <HeadPicker card={card} kinds={["cross"]} at={at} onChange={setAt} />
          <Slider label={say("row")} value={q + 1} min={1} max={n} shown={labels[q]?.text ?? ""} onChange={(place) => setRow(place - 1)} />
          <p role="status">{say("sees", { token: labels[q]?.text ?? "", n: seen, all: n, pairs: pairs(member) })}</p>
        </div>
      }
      caption={say(`real_${member}`, { layer: at.layer + 1, head: at.head + 1, model: card.name, above: fixed(above, 2) })}
    />
  );
}

const aboveDiagonal = ({ rows, cols, data }: Weights["encoder"]): number => {
  let most = 0;
  for (let q = 0; q < rows; q++) for (let k = q + 1; k < cols; k++) most = Math.max(most, data[q * cols + k]);
  return most;
};
