/** One model of the comparison: its answer, what the answer depends on, where the model looked. */
import { useMemo } from "preact/hooks";
import type { ColumnOut, Manifest } from "../../api-types";
import { getTrace, postTrace } from "../../api";
import { HeatmapFigure } from "../../components/HeatmapFigure";
import type { Cell } from "../../components/Heatmap";
import { Await, Loading } from "../../components/states";
import { embedded } from "../../embedded";
import { ApiError } from "../../errors";
import { useResource, useTensors } from "../../hooks";
import { t } from "../../i18n";
import { whole } from "../../lib/compare";
import type { Mark } from "../../lib/diff";
import { fixed, percent, signed } from "../../lib/format";
import { combine, extent, matrix, mergeWords, type Matrix } from "../../lib/matrix";
import { lastLayer } from "../../lib/needs";
import { range } from "../../lib/range";
import { cut } from "../../lib/spans";
import { href, options, params } from "../../state";
import { influenceOf, rowsOf, stripOf, strongest, type Chrf, type Rows } from "./view";
import { Link } from "../../components/Link";

/** What is pointed at: a word of the source, a row of one model's answer, or both. */
export interface Hover {
  readonly word: number | null;
  readonly row: number | null;
  readonly from: string | null;
}

interface ColumnProps {
  result: ColumnOut;
  text: string;
  marks: readonly Mark[];
  /** whether the answer is the reference; null without one */
  right: boolean | null;
  chrf: Chrf | null;
  /** largest influence of all columns: they share one colour scale */
  most: number;
  hover: Hover | null;
  onHover(hover: Hover | null): void;
}

export function Column(props: ColumnProps) {
  const { result, onHover } = props;
  const trace = useManifest(result, props.text);
  const manifest = trace.value?.target.text === result.text ? trace.value : null;
  const rows = useMemo(() => rowsOf(result, manifest, params.value.u === "words"), [result, manifest, params.value.u]);
  const influence = useMemo(() => influenceOf(result, rows), [result, rows]);
  const cell = cellOf(props, influence, rows);
  const point = (next: Cell | null) => onHover(next && { word: next.col, row: next.row, from: result.model });
  const cols = useMemo(
    () => result.influence.units.map((unit) => ({ text: whole(unit.text), lang: manifest?.source.lang })),
    [result, manifest],
  );
  const rtl = manifest?.source.dir === "rtl";
  return (
    <section class="card compare-column" aria-label={result.model}>
      <header>
        <h2>{t(`shell.arch_${result.arch}`)}</h2>
        <span class="small faint clip" title={result.model}>
          {result.model}
        </span>
      </header>
      <Answer {...props} manifest={manifest} rows={rows} row={cell?.row ?? null} />
      {props.right !== null && (
        <p>
          <span class={props.right ? "badge good" : "badge bad"}>{props.right ? t("compare.right") : t("compare.wrong")}</span>
        </p>
      )}
      <Scores result={result} chrf={props.chrf} />
      <HeatmapFigure
        bare
        title={t("compare.influence")}
        name={`${result.model}: ${t("compare.influence")}`}
        file={`influence-${result.model}`}
        matrix={influence}
        rows={rows.labels}
        cols={cols}
        scale={{ signed: true, max: props.most }}
        format={(value) => (Math.abs(value) < 0.05 ? "" : signed(value, 1))}
        maxCell={44}
        maxHeight={400}
        active={cell}
        onActive={point}
        rtl={rtl}
      />
      <Await of={trace} height={180}>
        {() =>
          manifest ? <Looked result={result} manifest={manifest} rows={rows} cols={cols} cell={cell} point={point} rtl={rtl} /> : null
        }
      </Await>
      <nav class="row small compare-links" aria-label={t("compare.open", { model: result.model })}>
        {(["translate", "attention", "inside", "beam"] as const).map((screen) => (
          <Link key={screen} href={href(screen, { m: result.model, k: null, l: null, h: null, q: null, j: null })}>
            {t(`shell.screen_${screen}`)}
          </Link>
        ))}
      </nav>
    </section>
  );
}

/** The trace behind a column; asked for anew when the server no longer has it. */
function useManifest(result: ColumnOut, text: string) {
  const { prefix: _, ...settings } = options.value;
  return useResource<Manifest>(
    `manifest ${result.id}`,
    async (signal) => {
      try {
        return await getTrace(result.id, signal);
      } catch (error) {
        if (embedded || !(error instanceof ApiError && error.code === "unknown_trace")) throw error;
        return postTrace({ model: result.model, text, ...settings }, signal);
      }
    },
    { cache: true },
  );
}

/** The cell to mark in this column for what is pointed at anywhere. */
function cellOf({ hover, result }: ColumnProps, influence: Matrix, rows: Rows): Cell | null {
  if (!hover) return null;
  const mine = hover.from === result.model;
  if (mine && hover.row !== null && hover.row < rows.labels.length) {
    if (hover.word !== null) return { row: hover.row, col: hover.word };
    let best = 0;
    for (let c = 1; c < influence.cols; c++)
      if (influence.data[hover.row * influence.cols + c] > influence.data[hover.row * influence.cols + best]) best = c;
    return { row: hover.row, col: best };
  }
  if (hover.word === null || hover.word >= influence.cols) return null;
  const row = strongest(influence, hover.word);
  return row < 0 ? null : { row, col: hover.word };
}

/** The answer with the words that differ marked; pointing at a part of it points at its row. */
function Answer({
  result,
  marks,
  right,
  manifest,
  rows,
  row,
  onHover,
}: ColumnProps & { manifest: Manifest | null; rows: Rows; row: number | null }) {
  if (result.text === "") return <p class="compare-text muted">{t("compare.nothing")}</p>;
  const tokens = manifest?.target.tokens ?? [];
  const pieces = cut(result.text, [...tokens.map((token) => token.span), ...marks.map((mark) => mark.span)]);
  const rowOf = (token: number) => rows.tokens.findIndex((list) => list.includes(token));
  return (
    <p class="compare-text" lang={manifest?.target.lang} dir={manifest?.target.dir ?? "auto"} onPointerLeave={() => onHover(null)}>
      {pieces.map((piece, i) => {
        const token = piece.tokens.find((n) => n < tokens.length);
        const mark = marks[piece.tokens.filter((n) => n >= tokens.length)[0] - tokens.length];
        const at = token === undefined ? -1 : rowOf(token);
        const name = [mark && (right === null ? "other" : "strong"), at >= 0 && at === row && "on"].filter(Boolean).join(" ");
        const enter = at < 0 ? undefined : () => onHover({ word: null, row: at, from: result.model });
        return mark ? (
          <mark key={i} class={name} onPointerEnter={enter}>
            {piece.text}
          </mark>
        ) : (
          <span key={i} class={name || undefined} onPointerEnter={enter}>
            {piece.text}
          </span>
        );
      })}
    </p>
  );
}

function Scores({ result, chrf }: { result: ColumnOut; chrf: Chrf | null }) {
  return (
    <dl class="compare-scores">
      <div>
        <dt>{t("compare.per_token")}</dt>
        <dd>{fixed(result.score_per_token, 2)}</dd>
      </div>
      {chrf && (
        <div>
          <dt>
            {chrf.pseudo === null
              ? t("compare.chrf")
              : chrf.pseudo === result.model
                ? t("compare.chrf_self")
                : t("compare.chrf_pseudo", { model: chrf.pseudo })}
          </dt>
          <dd>{fixed(chrf.value, 0)}</dd>
        </div>
      )}
    </dl>
  );
}

interface LookedProps {
  result: ColumnOut;
  manifest: Manifest;
  rows: Rows;
  cols: readonly { text: string; lang?: string }[];
  cell: Cell | null;
  point(cell: Cell | null): void;
  rtl: boolean;
}

/** Attention on the words of the source, or the fixed vector of a model without any. */
function Looked({ result, manifest, rows, cols, cell, point, rtl }: LookedProps) {
  const size = manifest.model.kinds.cross;
  const needs = size ? lastLayer(size) : ["rnn.bridge"];
  const tensors = useTensors(manifest.id, needs);
  const merged = useMemo(() => {
    const found = needs.map((need) => tensors.value?.get(need)).filter((tensor) => tensor !== undefined);
    if (!size || found.length < needs.length) return null;
    return mergeWords(
      combine(
        found.map(({ shape, data }) => matrix(shape[0], shape[1], data as Float32Array)),
        "mean",
      ),
      rows.tokens,
      result.influence.units.map((unit) => unit.tokens),
    );
  }, [tensors.value, rows, result]);
  return (
    <Await of={tensors} height={180}>
      {(map) => {
        const bridge = map.get("rnn.bridge");
        if (!size && bridge) return <FixedVector values={bridge.data} model={result.model} />;
        if (!size || !merged) return <Loading height={180} />;
        const special = 1 - merged.data.reduce((sum, w) => sum + w, 0) / Math.max(1, merged.rows);
        const title = size.heads > 1 ? t("compare.attention_mean") : t("compare.attention");
        return (
          <HeatmapFigure
            bare
            title={title}
            name={`${result.model}: ${title}`}
            file={`attention-${result.model}`}
            matrix={merged}
            rows={rows.labels}
            cols={cols}
            scale={{ sqrt: true }}
            maxCell={44}
            maxHeight={400}
            active={cell}
            onActive={point}
            rtl={rtl}
            caption={special >= 0.005 ? t("compare.special", { share: percent(special) }) : undefined}
          />
        );
      }}
    </Await>
  );
}

function FixedVector({ values, model }: { values: ArrayLike<number>; model: string }) {
  const strip = useMemo(() => stripOf(values), [values]);
  const rows = useMemo(() => range(strip.rows).map((r) => String(r * strip.cols + 1)), [strip]);
  const cols = useMemo(() => range(strip.cols).map(() => ""), [strip]);
  const finite = strip.data.filter(Number.isFinite);
  const most = Math.max(1e-6, ...extent(finite).map(Math.abs));
  const describe = ({ row, col }: Cell) =>
    t("compare.value_of", { n: row * strip.cols + col + 1, all: values.length, value: signed(strip.data[row * strip.cols + col], 3) });
  return (
    <div class="stack">
      <p class="compare-none">{t("compare.no_attention")}</p>
      <HeatmapFigure
        bare
        title={t("compare.vector", { n: values.length })}
        name={`${model}: ${t("compare.vector", { n: values.length })}`}
        file={`vector-${model}`}
        matrix={strip}
        rows={rows}
        cols={cols}
        scale={{ signed: true, max: most }}
        format={() => ""}
        describe={describe}
        maxCell={16}
        caption={t("compare.vector_note")}
      />
    </div>
  );
}
