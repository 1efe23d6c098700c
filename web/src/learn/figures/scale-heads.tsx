/** Entropy of every head of the model at hand, and what becomes of it when the scores are not divided. */
import { useState } from "preact/hooks";
import type { Arch, Kind, Manifest } from "../../api-types";
import { Segmented, kindChoices } from "../../components/controls";
import { Figure } from "../../components/Figure";
import { Await } from "../../components/states";
import { useTraceOf } from "../../hooks";
import { fixed } from "../../lib/format";
import { KINDS } from "../../lib/kinds";
import { shorten } from "../../lib/labels";
import { Amounts } from "../parts";
import { wordsOf } from "../say";
import { scaleHeads } from "../words/scale-heads";
import type { FigureProps } from ".";
import "./scale-heads.css";

export const arch: readonly Arch[] = ["transformer"];
const say = wordsOf(scaleHeads);

export default function ScaleHeads({ card, text }: FigureProps) {
  const kinds = KINDS.filter((kind) => card.kinds[kind] && kind !== "copy");
  const [kind, setKind] = useState<Kind>(kinds.includes("cross") ? "cross" : kinds[0]);
  const plain = useTraceOf({ model: card.name, text });
  const changed = useTraceOf({ model: card.name, text, interventions: kinds.map((one) => ({ op: "no_scale", kind: one })) });
  const rows = plain.value && changed.value ? headsOf(plain.value, changed.value, kind) : [];
  return (
    <Figure
      title={say("title")}
      tools={
        <Segmented
          label={say("kind")}
          value={kind}
          onChange={(one: Kind) => setKind(one)}
          choices={kindChoices(card.kinds).filter((one) => one.value !== "copy")}
        />
      }
      table={() => ({ head: ["", say("scaled"), say("raw")], rows: rows.map((one) => [one.label, one.scaled, one.raw]) })}
    >
      <Await of={plain} height={300}>
        {(before) => (
          <Await of={changed} height={300}>
            {(after) => <Heads rows={headsOf(before, after, kind)} before={before} after={after} d={card.kinds[kind]!.d_head} />}
          </Await>
        )}
      </Await>
    </Figure>
  );
}

interface HeadRow {
  readonly label: string;
  readonly scaled: number;
  readonly raw: number;
}

/** Mean entropy of each head in bits, as it is and without the division. */
export function headsOf(before: Manifest, after: Manifest, kind: Kind): HeadRow[] {
  const [one, other] = [before, after].map((manifest) => manifest.attention[kind]?.fingerprint.entropy ?? []);
  return one.flatMap((layer, l) =>
    layer.map((bits, h) => ({ label: say("head", { layer: l + 1, head: h + 1 }), scaled: bits ?? 0, raw: other[l]?.[h] ?? 0 })),
  );
}

function Heads({ rows, before, after, d }: { rows: readonly HeadRow[]; before: Manifest; after: Manifest; d: number }) {
  const mean = (name: "scaled" | "raw") => fixed(rows.reduce((sum, one) => sum + one[name], 0) / Math.max(1, rows.length), 2);
  const full = Math.max(1e-9, ...rows.flatMap((one) => [one.scaled, one.raw]));
  const same = before.target.text === after.target.text;
  const texts = { before: shorten(before.target.text, 60), after: shorten(after.target.text, 60) };
  return (
    <div class="stack">
      {before.model.score !== "scaled_dot" && <p class="note">{say("not_scaled")}</p>}
      <p class="small muted">{say("places")}</p>
      <Amounts
        labels={rows.map(({ label }) => ({ text: label }))}
        of={[
          { name: say("raw"), term: 2, values: rows.map((one) => one.raw), full },
          { name: say("scaled"), term: 3, values: rows.map((one) => one.scaled), full },
        ]}
        rest={(n) => say("rest", { n })}
      />
      <p class="small">{say("mean", { d, root: fixed(Math.sqrt(d), 2), scaled: mean("scaled"), raw: mean("raw") })}</p>
      <p class="small scale-texts">{say(same ? "same" : "other", texts)}</p>
    </div>
  );
}
