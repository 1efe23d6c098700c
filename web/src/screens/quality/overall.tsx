/** All systems on the whole test set: values with intervals, and how they were measured. */
import { Figure } from "../../components/Figure";
import { Table } from "../../components/Table";
import { t } from "../../i18n";
import type { TableData } from "../../lib/csv";
import { fixed } from "../../lib/format";
import { falls, outOf100, SCORES } from "../../lib/metrics";
import type { Judged } from "../../lib/quality";
import { metricName } from "./names";

const rank = (name: string) => (SCORES.includes(name) ? SCORES.indexOf(name) : SCORES.length);

export function Overall({ judged }: { judged: readonly Judged[] }) {
  const metrics = [...new Set(judged.flatMap((one) => Object.keys(one.doc.metrics)))].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
  const signatures = new Map(metrics.map((name) => [name, [...new Set(judged.flatMap((one) => one.doc.metrics[name]?.signature ?? []))]]));
  const signed = metrics.filter((name) => signatures.get(name)!.length > 0);
  const table = (): TableData => ({
    head: [
      t("quality.model"),
      ...metrics.flatMap((name) => [
        metricName(name),
        t("quality.col_low", { name: metricName(name) }),
        t("quality.col_high", { name: metricName(name) }),
      ]),
      t("quality.metric_length_ratio"),
      t("quality.speed"),
    ],
    rows: judged.map(({ doc, label }) => [
      label,
      ...metrics.flatMap((name) => [
        doc.metrics[name]?.value ?? null,
        doc.metrics[name]?.ci95?.[0] ?? null,
        doc.metrics[name]?.ci95?.[1] ?? null,
      ]),
      doc.length_ratio ?? null,
      doc.speed?.sentences_per_s ?? null,
    ]),
  });
  return (
    <Figure
      title={t("quality.overall")}
      table={table}
      twin={() => <Table data={table()} label={t("quality.overall")} />}
      className="overall"
    >
      <div class="scroll" tabIndex={0} role="region" aria-label={t("quality.overall")}>
        <table class="data">
          <thead>
            <tr>
              <th scope="col">{t("quality.model")}</th>
              {metrics.map((name) => (
                <th key={name} scope="col" title={falls(name) ? t("quality.lower_better") : undefined}>
                  {metricName(name)}
                  {falls(name) && <span class="faint"> ↓</span>}
                </th>
              ))}
              <th scope="col" class="num">
                {t("quality.metric_length_ratio")}
              </th>
              <th scope="col" class="num">
                {t("quality.speed")}
              </th>
            </tr>
          </thead>
          <tbody>
            {judged.map(({ card, doc, label, colour }) => (
              <tr key={card.id}>
                <th scope="row">
                  <i class={`dot c${colour}`} aria-hidden="true" />
                  {label}
                </th>
                {metrics.map((name) => (
                  <Score key={name} metric={doc.metrics[name]} gauge={outOf100(name)} />
                ))}
                <td class="num">{typeof doc.length_ratio === "number" ? fixed(doc.length_ratio, 3) : ""}</td>
                <td class="num">
                  {doc.speed?.sentences_per_s ? fixed(doc.speed.sentences_per_s, doc.speed.sentences_per_s < 100 ? 1 : 0) : ""}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {signed.length > 0 && (
        <details class="signatures">
          <summary>{t("quality.signatures")}</summary>
          <dl>
            {signed.map((name) => (
              <>
                <dt key={`dt${name}`}>{metricName(name)}</dt>
                <dd key={`dd${name}`}>
                  {signatures.get(name)!.map((signature) => (
                    <code key={signature}>{signature}</code>
                  ))}
                </dd>
              </>
            ))}
          </dl>
        </details>
      )}
    </Figure>
  );
}

/** A value, its interval in figures, and both as a bar from 0 to 100 where that makes sense. */
function Score({ metric, gauge }: { metric: Judged["doc"]["metrics"][string] | undefined; gauge: boolean }) {
  if (!metric || metric.value === null) return <td />;
  const [low, high] = metric.ci95 ?? [null, null];
  const clamp = (value: number) => Math.max(0, Math.min(100, value));
  return (
    <td>
      <div class="score">
        <b>{fixed(metric.value, 1)}</b>
        <span class="muted">
          {low !== null && high !== null ? t("quality.interval", { low: fixed(low, 1), high: fixed(high, 1) }) : ""}
        </span>
        {gauge && (
          <span class="gauge" aria-hidden="true">
            <i style={{ width: `${clamp(metric.value)}%` }} />
            {low !== null && high !== null && (
              <u style={{ left: `${clamp(low)}%`, width: `${Math.max(0.6, clamp(high) - clamp(low))}%` }} />
            )}
          </span>
        )}
      </div>
    </td>
  );
}
