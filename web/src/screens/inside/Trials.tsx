/** One thing done otherwise: the chosen row before and after, its entropy, and the way to the What-if drawer. */
import type { Op } from "../../lib/interventions";
import { Button, Segmented } from "../../components/controls";
import { Figure } from "../../components/Figure";
import { Icon } from "../../components/Icon";
import { embedded } from "../../embedded";
import { useSize } from "../../hooks";
import { t } from "../../i18n";
import { meanEntropy, rowUnder, TRIALS, type Trial } from "../../lib/arithmetic";
import { fixed, number, weight } from "../../lib/format";
import { shorten, widthOf } from "../../lib/labels";
import { entropy, row } from "../../lib/matrix";
import { range } from "../../lib/range";
import { addOp, setParams, whatIfOpen } from "../../state";
import type { Choice, Chosen, Head } from "./head";

const LINE = 22;
const MOST = 24;

interface Props {
  choice: Choice;
  head: Head;
  chosen: Chosen;
}

/** Why a switch can not be used here; null when it can. */
function barred(trial: Trial, head: Head): string | null {
  if (trial === "unscaled" && head.unscaled) return t("inside.trial_unscaled_no");
  if (trial === "unmasked" && !head.causal) return t("inside.trial_unmasked_no");
  return null;
}

export function Trials({ choice, head, chosen }: Props) {
  const trial = barred(choice.trial, head) === null ? choice.trial : "temperature";
  const maskOf = (q: number) => head.mask.subarray(q * head.scores.cols, (q + 1) * head.scores.cols);
  const undivided = (q: number) => {
    const bias = head.bias && row(head.bias, q);
    return Float64Array.from(row(head.scores, q), (x, k) => x + (bias?.[k] ?? 0));
  };
  const after = (q: number) => rowUnder(trial, { scores: undivided(q), scaled: row(head.placed, q), mask: maskOf(q) }, choice.temperature);
  const queries = head.rows.map((_, q) => q);
  const [before, then] = [row(head.weights, chosen.q), after(chosen.q)];
  const token = head.rows[chosen.q].text;
  const label = (k: number) => head.cols[k].text;
  return (
    <Figure
      title={t("inside.trials")}
      file="before-after"
      table={() => ({
        head: [t("inside.key"), t("inside.before"), t("inside.after")],
        rows: head.cols.map((col, k) => [col.text, before[k], then[k]]),
      })}
    >
      <div class="inside-trial">
        <div class="stack">
          <Segmented
            label={t("inside.trials")}
            value={trial}
            onChange={(value) => setParams({ try: value === "unscaled" ? null : value }, { push: true })}
            choices={TRIALS.map((value) => ({
              value,
              label: t(`inside.trial_${value}`),
              disabled: barred(value, head) !== null,
              title: barred(value, head) ?? undefined,
            }))}
          />
          <p class="note">{t(`inside.trial_${trial}_note`)}</p>
          {trial === "temperature" && (
            <label class="field">
              {t("inside.temperature")}
              <input
                type="range"
                min={-1}
                max={1}
                step={0.02}
                value={Math.log10(choice.temperature)}
                onInput={(event) => setParams({ tau: Number((10 ** Number(event.currentTarget.value)).toFixed(2)) })}
              />
              <output class="num">{`τ = ${number(choice.temperature)}`}</output>
            </label>
          )}
          <dl class="facts inside-entropy">
            <dt>{t("inside.entropy_of", { token })}</dt>
            <dd>
              <Change from={entropy(before)} to={entropy(then)} />
            </dd>
            <dt>{t("inside.entropy_head")}</dt>
            <dd>
              <Change from={meanEntropy(queries.map((q) => row(head.weights, q)))} to={meanEntropy(queries.map(after))} />
            </dd>
          </dl>
          {!embedded && <Send trial={trial} choice={choice} chosen={chosen} after={then} />}
        </div>
        <Pairs name={t("inside.trial_picture", { token })} before={before} after={then} label={label} chosen={chosen.k} />
      </div>
    </Figure>
  );
}

const Change = ({ from, to }: { from: number; to: number }) => (
  <>
    <span class="muted">{fixed(from, 2)}</span>
    <span class="faint">{" → "}</span>
    <b>{t("attention.bits", { n: fixed(to, 2) })}</b>
  </>
);

/** The same as an intervention on the model; without the mask there is none, for the later words do not exist while the model writes. */
function opOf(trial: Trial, { kind, layer, head }: Choice, { q }: Chosen, after: Float64Array): Op | null {
  switch (trial) {
    case "unscaled":
      return { op: "no_scale", kind };
    case "uniform":
      return { op: "uniform", kind, layer, head };
    case "temperature": {
      const kept = Array.from(after, (w, k): [string, number] => [String(k), Number(w.toPrecision(6))])
        .filter(([, w]) => w > 1e-5)
        .sort((a, b) => b[1] - a[1])
        .slice(0, 128);
      return { op: "set_row", kind, layer, head, q, weights: Object.fromEntries(kept) };
    }
    case "unmasked":
      return null;
  }
}

function Send({ trial, choice, chosen, after }: { trial: Trial; choice: Choice; chosen: Chosen; after: Float64Array }) {
  const op = opOf(trial, choice, chosen, after);
  const send = () => {
    if (!op) return;
    addOp(op);
    whatIfOpen.value = true;
  };
  return (
    <div class="row">
      <Button disabled={!op} onClick={send}>
        <Icon name="whatif" size={16} />
        {t("inside.send")}
      </Button>
      <span class="small muted">{t(op ? `inside.send_${trial as Exclude<Trial, "unmasked">}` : "inside.send_none")}</span>
    </div>
  );
}

interface PairsProps {
  name: string;
  before: ArrayLike<number>;
  after: ArrayLike<number>;
  label(k: number): string;
  chosen: number;
}

/** Two bars per key: as it is, and as it would be. */
function Pairs({ name, before, after, label, chosen }: PairsProps) {
  const [frame, size] = useSize<HTMLDivElement>();
  const keys = range(before.length);
  const shown =
    keys.length <= MOST
      ? keys
      : keys
          .sort((a, b) => Math.max(before[b], after[b]) - Math.max(before[a], after[a]))
          .slice(0, MOST)
          .sort((a, b) => a - b);
  const width = Math.max(220, Math.min(size.width || 480, 640));
  const left = Math.min(120, Math.max(...shown.map((k) => widthOf(shorten(label(k), 12)) * 13)) + 12);
  const room = width - left - 44;
  const most = Math.max(0.2, ...shown.map((k) => Math.max(before[k], after[k])));
  const x = (w: number) => (w / most) * room;
  return (
    <div ref={frame} class="inside-pairs">
      <ul class="chart-legend">
        <li>
          <i class="before" />
          {t("inside.before")}
        </li>
        <li>
          <i class="after" />
          {t("inside.after")}
        </li>
      </ul>
      <svg width={width} height={shown.length * LINE + 4} role="img" aria-label={name}>
        {shown.map((k, n) => (
          <g key={k} transform={`translate(0 ${n * LINE + 2})`}>
            <text x={left - 10} y={LINE / 2} text-anchor="end" dominant-baseline="central" class={k === chosen ? "on" : undefined}>
              {shorten(label(k), 12)}
            </text>
            <rect class="before" x={left} y={4} width={Math.max(0.5, x(before[k]))} height={6} rx={1.5} />
            <rect class="after" x={left} y={11} width={Math.max(0.5, x(after[k]))} height={6} rx={1.5} />
            <text class="value" x={left + Math.max(x(before[k]), x(after[k])) + 7} y={LINE / 2} dominant-baseline="central">
              {weight(after[k])}
            </text>
          </g>
        ))}
      </svg>
      {shown.length < keys.length && <p class="small muted">{t("inside.more_keys", { n: keys.length - shown.length })}</p>}
    </div>
  );
}
