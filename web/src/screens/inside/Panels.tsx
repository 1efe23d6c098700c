/** The matrices of a stage: what goes in, an operator, what comes out. */
import { Fragment, type ComponentChildren } from "preact";
import type { Manifest } from "../../api-types";
import type { Cell } from "../../components/Heatmap";
import { HeatmapFigure } from "../../components/HeatmapFigure";
import { Await } from "../../components/states";
import { useTensors } from "../../hooks";
import { t } from "../../i18n";
import { addsUp } from "../../lib/arithmetic";
import { fixed } from "../../lib/format";
import type { Label } from "../../lib/heatmap";
import { matrix, pick, row, transpose, type Matrix } from "../../lib/matrix";
import { range } from "../../lib/range";
import { params, setParams } from "../../state";
import type { Tone } from "./formulas";
import { contextsOf, dimensionOf, dimensionsOf, isWide, joinNeeds, reach, scoreParts, valueParts } from "./head";
import type { Choice, Chosen, Head } from "./head";

interface PanelProps {
  name: string;
  tone: Tone;
  matrix: Matrix;
  rows: readonly (Label | string)[];
  cols: readonly (Label | string)[];
  /** largest magnitude of the signed scale; without it the values are weights */
  max?: number;
  mask?: ArrayLike<number>;
  at: Cell;
  choose(cell: Cell): void;
  rtl?: boolean;
  maxCell?: number;
  free?: boolean;
  file: string;
  /** share of the room: cells that stand in for its columns */
  grow?: number;
  size?: string;
}

const digits = (max: number) => (max < 1 ? 2 : max < 100 ? 1 : 0);

function Panel(props: PanelProps & { step(layer: -1 | 0 | 1, head: -1 | 0 | 1): void }) {
  const { matrix: m, max, step } = props;
  return (
    <div class="inside-panel" style={{ flexGrow: String(Math.min(28, props.grow ?? m.cols + 6)) }}>
      <HeatmapFigure
        bare
        className={`tone-${props.tone}`}
        title={props.name}
        file={props.file}
        matrix={m}
        rows={props.rows}
        cols={props.cols}
        mask={props.mask}
        rtl={props.rtl}
        scale={max === undefined ? { sqrt: true } : { signed: true, max }}
        format={max === undefined ? undefined : (value) => fixed(value, digits(max))}
        maxCell={props.maxCell ?? 38}
        maxHeight={400}
        free={props.free}
        locked={props.at}
        onLock={(cell) => cell && props.choose(cell)}
        onLayer={(by) => step(by, 0)}
        onHead={(by) => step(0, by)}
        tools={<span class="badge">{props.size ?? `${m.rows} × ${m.cols}`}</span>}
      />
    </div>
  );
}

const dimLabels = (dims: readonly number[]) => dims.map((n) => String(n + 1));

export function Panels({ manifest, choice, head, chosen }: { manifest: Manifest; choice: Choice; head: Head; chosen: Chosen }) {
  const { layers, heads } = choice.size;
  const step = (layer: number, by: number) =>
    setParams({ l: ((choice.layer + layer + layers) % layers) + 1, h: ((choice.head + by + heads) % heads) + 1, dim: null });
  const choose = (q: number | null, k: number | null, dim: number | null = null) =>
    setParams({ q: q ?? chosen.q, j: k ?? chosen.k, ...(dim === null ? {} : { dim: dim + 1 }) }, { push: true });
  const { panels, operators } = panelsOf(choice, head, chosen, choose);
  return (
    <section class="card inside-panels" aria-label={t(`inside.stage_${choice.stage}`)}>
      <p class="note">{t(explanation(choice, head))}</p>
      {choice.stage === 6 ? (
        <Joined manifest={manifest} choice={choice} head={head} chosen={chosen} choose={choose} step={step} />
      ) : (
        <div class="inside-equation">
          {panels.map((panel, n) => (
            <Fragment key={panel.file}>
              {n > 0 && <Operator>{operators[n - 1]}</Operator>}
              <Panel {...panel} step={step} />
            </Fragment>
          ))}
        </div>
      )}
    </section>
  );
}

const Operator = ({ children }: { children: ComponentChildren }) => (
  <span class="inside-operator" aria-hidden="true">
    {children}
  </span>
);

function explanation({ stage, kind }: Choice, head: Head) {
  if (head.luong && (stage === 1 || stage === 2 || stage === 5 || stage === 6)) {
    if (stage === 1)
      return head.score === "concat" ? "inside.why_1_concat" : head.score === "general" ? "inside.why_1_general" : "inside.why_1_dot";
    return `inside.why_${stage}_luong` as const;
  }
  if (head.copy && (stage === 5 || stage === 6)) return `inside.why_${stage}_copy` as const;
  if (stage === 7) return head.causal ? "inside.why_7_causal" : "inside.why_7_open";
  if (stage === 2 && head.unscaled) return "inside.why_2_dot";
  if (stage === 3) return `inside.why_3_${head.causal ? "causal" : "open"}` as const;
  if (stage === 1) return `inside.why_1_${kind}` as const;
  return `inside.why_${stage}` as const;
}

/** Whether the queries are the decoder's states after W_a, not the states themselves. */
const projected = (head: Head) => head.states?.data.some((x, n) => Math.abs(x - head.q.data[n]) > 1e-5);

type Choose = (q: number | null, k: number | null, dim?: number | null) => void;

function panelsOf(choice: Choice, head: Head, chosen: Chosen, choose: Choose): { panels: PanelProps[]; operators: string[] } {
  const { rows, cols, rtl } = head;
  const cell = { row: chosen.q, col: chosen.k };
  const square = { rows, cols, rtl, at: cell, choose: ({ row: q, col: k }: Cell) => choose(q, k), tone: "s" as Tone };
  const top = reach(head.scores);
  const scaled = head.unscaled ? t("inside.scores") : t("inside.scaled");
  const letters = head.luong ? { q: projected(head) ? "S · Wₐ" : "S", k: "Hᵀ", v: "H" } : { q: "Q", k: "Kᵀ", v: head.copy ? "H" : "V" };
  const dimensions = (parts: ArrayLike<number>) => {
    const dims = dimensionsOf(parts, choice.all);
    const at = dims.indexOf(dimensionOf(params.value, parts, dims));
    return { dims, at, names: dimLabels(dims), free: choice.all && isWide(head.d) };
  };
  const before = { ...square, name: scaled, file: "scaled", matrix: head.scaled, max: reach(head.scaled) };
  const placed = head.bias ? { ...before, name: t("inside.placed"), file: "placed", matrix: head.placed, max: reach(head.placed) } : before;
  const masked = { ...placed, name: t("inside.masked"), file: "masked", mask: head.mask };
  const weights = { ...square, name: t("inside.weights"), file: "weights", matrix: head.weights, mask: head.mask };
  const scores = { ...square, name: t("inside.scores"), file: "scores", matrix: head.scores, max: top };
  switch (choice.stage) {
    case 1: {
      const parts = scoreParts(head, chosen);
      const { dims, at, names, free } = dimensions(parts);
      const q: PanelProps = {
        free,
        name: letters.q,
        file: "q",
        tone: "q",
        matrix: pick(head.q, range(head.q.rows), dims),
        rows,
        cols: names,
        max: reach(head.q),
        at: { row: chosen.q, col: at },
        choose: ({ row: r, col }) => choose(r, null, dims[col]),
        maxCell: 26,
        grow: Math.min(20, dims.length * 0.8 + 6),
        size: `${head.q.rows} × ${head.d}`,
      };
      const k: PanelProps = {
        free,
        name: letters.k,
        file: "k",
        tone: "k",
        matrix: transpose(pick(head.k, range(head.k.rows), dims)),
        rows: names,
        cols,
        max: reach(head.k),
        at: { row: at, col: chosen.k },
        choose: ({ row: r, col }) => choose(null, col, dims[r]),
        rtl,
        maxCell: 26,
        grow: cols.length * 0.9 + 4,
        size: `${head.d} × ${head.k.rows}`,
      };
      return {
        panels: [q, k, { ...scores, grow: cols.length * 1.25 + 4 }],
        operators: [addsUp(parts, head.scores.data[chosen.q * head.scores.cols + chosen.k]) ? "×" : "∘", "="],
      };
    }
    case 2:
      return { panels: [scores, { ...before, max: top }], operators: ["→"] };
    case 7: {
      const bias = head.bias ?? head.scaled;
      const max = reach(head.scaled, bias, head.placed);
      const added: PanelProps = { ...square, name: t("inside.bias"), file: "bias", matrix: bias, max };
      return { panels: [{ ...before, max }, added, { ...placed, max }], operators: ["+", "="] };
    }
    case 3:
      return { panels: [placed, masked], operators: ["→"] };
    case 4:
      return { panels: [masked, weights], operators: ["→"] };
    default: {
      const { dims, at, names, free } = dimensions(valueParts(head, chosen));
      const wide = (m: Matrix) => ({
        free,
        matrix: pick(m, range(m.rows), dims),
        cols: names,
        max: reach(head.v),
        maxCell: 30,
        size: `${m.rows} × ${head.d}`,
      });
      const v: PanelProps = {
        ...wide(head.v),
        name: letters.v,
        file: "v",
        tone: "v",
        rows: cols,
        at: { row: chosen.k, col: at },
        choose: ({ row: k, col }) => choose(null, k, dims[col]),
      };
      const context: PanelProps = {
        ...wide(head.context),
        name: t("inside.context"),
        file: "context",
        tone: "o",
        rows,
        at: { row: chosen.q, col: at },
        choose: ({ row: q, col }) => choose(q, null, dims[col]),
      };
      return { panels: [{ ...weights, maxCell: 30 }, v, context], operators: ["×", "="] };
    }
  }
}

interface JoinedProps {
  manifest: Manifest;
  choice: Choice;
  head: Head;
  chosen: Chosen;
  choose: Choose;
  step(layer: number, head: number): void;
}

/** The last stage: this query's contexts of all heads in one vector, and what the output matrix makes of it. */
function Joined({ manifest, choice, head, chosen, choose, step }: JoinedProps) {
  const contexts = useTensors(head.luong || head.copy ? null : manifest.id, joinNeeds(choice));
  const out = (
    <Panel
      name={head.luong ? t("inside.attentional") : head.copy ? t("attention.copied") : t("inside.out")}
      file="out"
      tone="o"
      matrix={head.out}
      rows={head.rows}
      cols={dimLabels(range(head.out.cols))}
      max={head.copy ? 1 : reach(head.out)}
      at={{ row: chosen.q, col: 0 }}
      choose={({ row: q }) => choose(q, null)}
      free
      maxCell={22}
      step={step}
    />
  );
  if (head.copy) return <div class="inside-column">{out}</div>;
  if (head.luong) {
    const state = head.states ?? head.q;
    const both = matrix(2, head.d, Float32Array.from([...row(head.context, chosen.q), ...row(state, chosen.q)]));
    return (
      <div class="inside-column">
        <Panel
          name={t("inside.context_and_state")}
          file="context-state"
          tone="o"
          matrix={both}
          rows={[t("inside.context"), t("inside.state")]}
          cols={dimLabels(range(head.d))}
          max={reach(both)}
          at={{ row: 0, col: 0 }}
          choose={() => undefined}
          free
          maxCell={28}
          step={step}
        />
        <Operator>{"↓"}</Operator>
        {out}
      </div>
    );
  }
  return (
    <Await of={contexts} height={300}>
      {(tensors) => {
        const found = contextsOf(choice, tensors);
        if (found.length === 0 || found[0].rows <= chosen.q) return null;
        const joined = matrix(found.length, found[0].cols, Float32Array.from(found.flatMap((one) => [...row(one, chosen.q)])));
        return (
          <div class="inside-column">
            <Panel
              name={t("inside.joined", { token: head.rows[chosen.q].text })}
              file="joined"
              tone="o"
              matrix={joined}
              rows={found.map((_, n) => t("inside.head_n", { n: n + 1 }))}
              cols={dimLabels(range(joined.cols))}
              max={reach(joined)}
              at={{ row: choice.head, col: 0 }}
              choose={({ row: h }) => setParams({ h: h + 1 }, { push: true })}
              free
              maxCell={28}
              step={step}
            />
            <Operator>{"↓"}</Operator>
            {out}
          </div>
        );
      }}
    </Await>
  );
}
