/** A plain table of data; more than `limit` rows are cut with a note. */
import { t } from "../i18n";
import type { TableData } from "../lib/csv";
import { number } from "../lib/format";

const LIMIT = 400;

export function Table({ data, label }: { data: TableData; label: string }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={label}>
      <table class="data">
        <thead>
          <tr>
            {data.head.map((text, c) => (
              <th key={c} scope="col" class={typeof data.rows[0]?.[c] === "number" ? "num" : undefined}>
                {text}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {data.rows.slice(0, LIMIT).map((row, r) => (
            <tr key={r}>
              {row.map((value, c) =>
                c === 0 ? (
                  <th key={c} scope="row">
                    <bdi>{value}</bdi>
                  </th>
                ) : (
                  <td key={c} class={typeof value === "number" ? "num" : undefined}>
                    {typeof value === "number" ? number(value) : <bdi>{value}</bdi>}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
      {data.rows.length > LIMIT && <p class="note">{t("figure.more", { n: data.rows.length - LIMIT })}</p>}
    </div>
  );
}
