/** Score by source length: a line per system, sentence counts below, and the sentences of the chosen length. */
import { useMemo } from "preact/hooks";
import type { EvalDocument } from "../../api-types";
import { LineFigure, type Line } from "../../components/LineChart";
import { choices, IconButton, Segmented, Select } from "../../components/controls";
import { Link } from "../../components/Link";
import { Empty } from "../../components/states";
import { t } from "../../i18n";
import type { TableData } from "../../lib/csv";
import { fixed, signed } from "../../lib/format";
import { falls, outOf100 } from "../../lib/metrics";
import { casesOf, difference, metricsOf, rareLengths, spansOf, metricOf, type Judged, type Span } from "../../lib/quality";
import { wordDiff } from "../../lib/words";
import { href, params, setParams } from "../../state";
import { metricName } from "./names";

interface Chart {
  readonly lines: readonly Line[];
  readonly rare: readonly { from: number; to: number }[];
}

function chartOf(judged: readonly Judged[], spans: readonly Span[], metric: string, base: Judged | undefined): Chart {
  const binOf = (doc: EvalDocument, span: Span) => doc.by_length?.bins.find((bin) => bin.lo === span.lo);
  const lines = judged.map((one): Line => {
    const found = spans.flatMap((span) => {
      const bin = binOf(one.doc, span);
      const other = base && binOf(base.doc, span);
      if (!bin || (base && !other)) return [];
      const value = metricOf(bin, metric);
      return [
        {
          span,
          ...(base && one !== base && other
            ? difference(value, metricOf(other, metric))
            : base
              ? { value: 0, low: null, high: null }
              : value),
          thin: bin.thin === true,
        },
      ];
    });
    const banded = found.some((point) => point.low !== null);
    return {
      id: one.card.id,
      label: one.label,
      colour: one.colour,
      dots: true,
      dashed: one === base,
      x: found.map((point) => point.span.middle),
      y: found.map((point) => point.value),
      thin: found.map((point) => point.thin),
      ...(banded ? { low: found.map((point) => point.low), high: found.map((point) => point.high) } : {}),
    };
  });
  const histogram = judged.find((one) => one.doc.train_length_histogram?.length)?.doc.train_length_histogram;
  return { lines, rare: spans.length ? rareLengths(histogram, spans[0].lo - 0.5, spans[spans.length - 1].hi + 0.5) : [] };
}

export function ByLength({ judged }: { judged: readonly Judged[] }) {
  const docs = judged.map((one) => one.doc);
  const metrics = metricsOf(docs);
  const metric = metrics.find((name) => name === params.value.me) ?? metrics[0];
  const base = judged.length > 1 ? judged.find((one) => one.card.id === params.value.vs) : undefined;
  const spans = useMemo(() => spansOf(docs), [judged]);
  const { lines, rare } = useMemo(() => chartOf(judged, spans, metric, base), [judged, spans, metric, base]);
  const chosen = spans.findIndex((span) => String(span.lo) === params.value.bin);
  const bars = useMemo(
    () => ({
      label: t("quality.counts"),
      items: spans.map((span) => ({ from: span.lo - 0.5, to: span.hi + 0.5, n: span.n })),
      selected: chosen < 0 ? null : chosen,
    }),
    [spans, chosen],
  );
  const ticks = useMemo(() => spans.map((span) => ({ at: span.middle, label: span.label })), [spans]);
  if (!metric || spans.length === 0)
    return (
      <div class="card">
        <Empty title={t("quality.no_lengths")} />
      </div>
    );
  const unit = unitName(docs[0].by_length?.unit);
  const ratio = metric === "length_ratio";
  const text = (value: number) => (base ? signed(value, ratio ? 3 : 1) : fixed(value, ratio ? 3 : 1));
  const labelAt = (x: number) => spans.find((span) => span.middle === x)?.label ?? String(x);
  const pick = (x: number) => {
    const span = spans.find((one) => one.middle === x);
    if (span) setParams({ bin: String(span.lo) === params.value.bin ? null : span.lo }, { push: true });
  };
  const caption = [
    falls(metric) && t("quality.lower_better"),
    ratio ? !base && t("quality.caption_ratio") : base ? t("quality.caption_minus") : t("quality.caption"),
    spans.some((span) => span.thin) && t("quality.caption_thin"),
    rare.length > 0 && t("quality.caption_rare"),
    chosen < 0 && t("quality.pick"),
  ]
    .filter(Boolean)
    .join(" ");
  return (
    <>
      <LineFigure
        title={
          base
            ? t("quality.by_length_minus", { metric: metricName(metric), model: base.label })
            : t("quality.by_length", { metric: metricName(metric) })
        }
        lines={lines}
        xLabel={unit}
        xTicks={ticks}
        formatX={labelAt}
        formatY={text}
        ranges={rare}
        bars={bars}
        height={300}
        level={base ? 0 : ratio ? 1 : undefined}
        yRange={base || !outOf100(metric) ? undefined : [0, 100]}
        onPick={pick}
        caption={caption}
        table={() => tableOf(lines, spans, unit)}
        tools={
          <div class="row">
            <Segmented
              label={t("quality.metric")}
              value={metric}
              onChange={(me) => setParams({ me })}
              choices={choices(metrics, metricName)}
            />
            {judged.length > 1 && (
              <Select
                bare
                label={t("quality.against")}
                value={base?.card.id ?? ""}
                onChange={(vs) => setParams({ vs })}
                choices={[
                  { value: "", label: t("quality.absolute") },
                  ...judged.map((one) => ({ value: one.card.id, label: t("quality.minus", { model: one.label }) })),
                ]}
              />
            )}
          </div>
        }
      />
      {chosen >= 0 && <Sentences judged={judged} span={spans[chosen]} unit={unit} />}
    </>
  );
}

const unitName = (unit: string | undefined) =>
  unit === "source_words"
    ? t("quality.unit_source_words")
    : unit === "source_characters"
      ? t("quality.unit_source_characters")
      : t("quality.unit_other");

function tableOf(lines: readonly Line[], spans: readonly Span[], unit: string): TableData {
  const head = [
    unit,
    t("quality.counts"),
    ...lines.flatMap((line) => [
      line.label,
      ...(line.low ? [t("quality.col_low", { name: line.label }), t("quality.col_high", { name: line.label })] : []),
    ]),
  ];
  const rows = spans.map((span) => [
    span.label,
    span.n,
    ...lines.flatMap((line) => {
      const i = line.x.indexOf(span.middle);
      const at = (values: readonly (number | null)[] | undefined) => (i < 0 ? null : (values?.[i] ?? null));
      return [at(line.y), ...(line.low ? [at(line.low), at(line.high)] : [])];
    }),
  ]);
  return { head, rows };
}

/** The sentences of a length that the evaluations kept, the worst first. */
function Sentences({ judged, span, unit }: { judged: readonly Judged[]; span: Span; unit: string }) {
  const cases = useMemo(
    () =>
      casesOf(
        judged.map((one) => one.doc),
        span.lo,
      ),
    [judged, span.lo],
  );
  const title = t("quality.sentences_title", { label: span.label, unit });
  return (
    <section class="card cases" aria-label={title}>
      <div class="row between top">
        <div>
          <h2>{title}</h2>
          <p class="note">{cases.length > 0 ? t("quality.sentences_hint") : t("quality.sentences_none")}</p>
        </div>
        <IconButton icon="close" label={t("quality.close")} onClick={() => setParams({ bin: null }, { push: true })} />
      </div>
      <ol tabIndex={0} aria-label={title}>
        {cases.map((one) => (
          <li key={one.line}>
            <div class="row between top">
              <p class="source" dir="auto">
                <span class="sr">{t("quality.source")} </span>
                {one.source}
              </p>
              <Link
                class="btn"
                href={href("compare", {
                  s: one.source,
                  ref: one.reference,
                  i: null,
                  t: null,
                  px: null,
                  w: null,
                  e: null,
                  me: null,
                  bin: null,
                  vs: null,
                })}
              >
                {t("quality.compare")}
              </Link>
            </div>
            <dl>
              <dt>{t("quality.reference")}</dt>
              <dd dir="auto">{one.reference}</dd>
              {one.answers.map(({ system, hypothesis, chrf }) => (
                <>
                  <dt key={`dt${system}`} class={`c${judged[system].colour}`}>
                    {judged[system].label}
                  </dt>
                  <dd key={`dd${system}`} dir="auto">
                    {hypothesis === one.reference
                      ? hypothesis
                      : wordDiff(hypothesis, one.reference).map((part, i) =>
                          part.kind === "same" ? (
                            part.text
                          ) : part.kind === "added" ? (
                            <ins key={i}>{part.text}</ins>
                          ) : (
                            <del key={i}>{part.text}</del>
                          ),
                        )}
                    <span class="score">
                      {hypothesis === one.reference
                        ? t("quality.as_reference")
                        : chrf === null
                          ? ""
                          : t("quality.chrf_of", { value: fixed(chrf, 1) })}
                    </span>
                  </dd>
                </>
              ))}
            </dl>
          </li>
        ))}
      </ol>
    </section>
  );
}
