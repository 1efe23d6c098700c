/** Tables as text for spreadsheets. */
export interface TableData {
  readonly head: readonly string[];
  readonly rows: readonly (readonly (string | number | null)[])[];
}

function field(value: string | number | null, separator: string): string {
  if (value === null) return "";
  if (typeof value === "number") return String(value);
  // a spreadsheet would run a text that begins like a formula
  const text = /^[=+\-@\t\r]/.test(value) && !/^[+-]?[\d.]+$/.test(value) ? `'${value}` : value;
  return text.includes(separator) || /["\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

/** CSV (or TSV) of a table, CRLF line ends, quoted where needed. */
export function toCsv(table: TableData, separator: "," | "\t" = ","): string {
  return [table.head, ...table.rows].map((row) => row.map((value) => field(value, separator)).join(separator) + "\r\n").join("");
}
