/** The strongest weights of a row as bars. Where the row is one token's and the heads are real, a bar can be dragged, or moved by the arrow keys: the row then is what the reader makes of it. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Cell } from "../../components/Heatmap";
import { embedded } from "../../embedded";
import { t } from "../../i18n";
import { fixed } from "../../lib/format";
import { withRow, withWeight } from "../../lib/interventions";
import { largest, row } from "../../lib/matrix";
import { ops, setOps } from "../../state";
import type { Choice, Picture } from "./view";

const SHOWN = 8;
const QUIET = 250; // ms without a key before the model is asked

/** The bar that was moved last, by place and key: it gets the focus back when the new answer has drawn it again. */
let held = "";

/** The heads whose row may be set, if what is drawn is the row of one token, key by key. */
function settable(choice: Choice, picture: Picture, cell: Cell) {
  const [pick, other] = choice.picks;
  const plain = [picture.rowUnits[cell.row], ...picture.colUnits].every((unit) => unit.tokens.length === 1);
  if (embedded || other || !plain || picture.folded || choice.kind === "copy" || pick.head === "max" || pick.head === "rollout")
    return null;
  return { kind: choice.kind, layer: pick.layer, head: pick.head === "mean" ? ("*" as const) : pick.head };
}

export function Weights({ choice, picture, cell }: { choice: Choice; picture: Picture; cell: Cell }) {
  const { matrix: m, rows, cols, mask } = picture;
  const where = settable(choice, picture, cell);
  const place = JSON.stringify([where, cell.row, m.cols]);
  const given = row(m, cell.row);
  const [draft, setDraft] = useState<readonly number[] | null>(null);
  const timer = useRef(0);
  // bars keep their places while they are moved
  const order = useRef<{ place: string; keys: readonly number[] } | null>(null);
  if (order.current?.place !== place || (!held.startsWith(place) && !draft)) order.current = { place, keys: [...largest(given, SHOWN)] };
  useEffect(() => setDraft(null), [m, place]);
  const weights = draft ?? given;
  const allowed = mask ? mask.subarray(cell.row * m.cols, (cell.row + 1) * m.cols) : undefined;
  const move = (key: number, value: number) => {
    held = `${place} ${key}`;
    const next = withWeight(given, key, value, allowed);
    setDraft(next);
    clearTimeout(timer.current);
    return next;
  };
  const commit = (key: number, value: number, wait: number) => {
    const next = move(key, value);
    const q = picture.rowUnits[cell.row].tokens[0];
    timer.current = setTimeout(() => where && setOps(withRow(ops.value, where, q, next)), wait) as unknown as number;
  };
  return (
    <>
      <ol class={where ? "bars settable" : "bars"}>
        {order.current.keys.map((c) => (
          <li key={c} class={c === cell.col ? "on" : undefined}>
            <bdi class="clip" lang={cols[c].lang}>
              {cols[c].text}
            </bdi>
            <span class="num">{fixed(weights[c], 3)}</span>
            {where && allowed?.[c] !== 0 ? (
              <input
                type="range"
                min="0"
                max="1"
                step="0.01"
                value={weights[c]}
                ref={(node) => {
                  if (node && held === `${place} ${c}` && document.activeElement === document.body) node.focus();
                }}
                style={{ "--share": `${weights[c] * 100}%` }}
                aria-label={t("attention.weight_of", { row: rows[cell.row].text, col: cols[c].text })}
                aria-valuetext={fixed(weights[c], 2)}
                onInput={(event) => move(c, event.currentTarget.valueAsNumber)}
                onChange={(event) => commit(c, event.currentTarget.valueAsNumber, QUIET)}
              />
            ) : (
              <i style={{ width: `${Math.max(0.5, weights[c] * 100)}%` }} />
            )}
          </li>
        ))}
      </ol>
      {where && <p class="note">{t("attention.weights_note")}</p>}
    </>
  );
}
