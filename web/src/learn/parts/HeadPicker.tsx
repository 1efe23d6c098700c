/** Which attention, layer and head a figure shows; only what there is to choose between. */
import type { Card, Kind } from "../../api-types";
import { Segmented, Select } from "../../components/controls";
import { t } from "../../i18n";
import { range } from "../../lib/range";
import { wordsOf } from "../say";
import { frame } from "../words/frame";

const say = wordsOf(frame);

export interface HeadPlace {
  readonly kind: Kind;
  /** both from 0 */
  readonly layer: number;
  readonly head: number;
}

interface HeadPickerProps {
  card: Card;
  kinds: readonly Kind[];
  at: HeadPlace;
  onChange(at: HeadPlace): void;
}

/** The last layer's first head of a kind. */
export const lastHead = (card: Card, kind: Kind): HeadPlace => ({ kind, layer: (card.kinds[kind]?.layers ?? 1) - 1, head: 0 });

export function HeadPicker({ card, kinds, at, onChange }: HeadPickerProps) {
  const size = card.kinds[at.kind];
  const there = kinds.filter((kind) => card.kinds[kind]);
  const numbered = (count: number) => range(count).map((n) => ({ value: String(n), label: String(n + 1) }));
  return (
    <div class="row wide">
      {there.length > 1 && (
        <Segmented
          label={say("kind")}
          value={at.kind}
          choices={there.map((value) => ({ value, label: t(`attention.kind_${value}`) }))}
          onChange={(kind) => onChange(lastHead(card, kind))}
        />
      )}
      {size && size.layers > 1 && (
        <Select
          label={say("layer")}
          value={String(at.layer)}
          choices={numbered(size.layers)}
          onChange={(value) => onChange({ ...at, layer: Number(value) })}
        />
      )}
      {size && size.heads > 1 && (
        <Select
          label={say("head")}
          value={String(at.head)}
          choices={numbered(size.heads)}
          onChange={(value) => onChange({ ...at, head: Number(value) })}
        />
      )}
    </div>
  );
}
