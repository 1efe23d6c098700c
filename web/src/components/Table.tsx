/** A plain table of data; more than `limit` rows are cut with a note. */
import { t } from "../i18n";
import type { TableData } from "../lib/csv";
import { number } from "../lib/format";

const LIMIT = 400;

interface TableProps {
  data: TableData;
  label: string;
  /** stands above the table */
  caption?: string;
  /** languages of the heads of rows and columns */
  langs?: { readonly rows?: string; readonly cols?: string };
  /** row and column of the marked cell, both from 0 and without the heads */
  marked?: readonly [number, number];
}

export function Table({ data, label, caption, langs, marked }: TableProps) {
  const numeric = (value: unknown) => (typeof value === "number" ? "num" : undefined);
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={label}>
      <table class="data">
        {caption && <caption class="note">{caption}</caption>}
        <thead>
          <tr>
            {data.head.map((text, c) =>
              text === "" ? (
                <td key={c} />
              ) : (
                <th key={c} scope="col" class={numeric(data.rows[0]?.[c])} lang={langs?.cols}>
                  <bdi>{text}</bdi>
                </th>
              ),
            )}
          </tr>
        </thead>
        <tbody>
          {data.rows.slice(0, LIMIT).map((row, r) => (
            <tr key={r}>
              {row.map((value, c) =>
                c === 0 ? (
                  <th key={c} scope="row" lang={langs?.rows}>
                    <bdi>{value}</bdi>
                  </th>
                ) : (
                  <td key={c} class={numeric(value)} aria-current={marked?.[0] === r && marked[1] === c - 1 ? "true" : undefined}>
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
