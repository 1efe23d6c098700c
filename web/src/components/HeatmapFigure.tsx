/** A matrix in its frame: heatmap, windowed table twin, drawing for export. */
import type { ComponentChildren } from "preact";
import { t } from "../i18n";
import { css, entryOf, inkOn } from "../lib/colour";
import type { TableData } from "../lib/csv";
import { weight } from "../lib/format";
import { around, FONT, labelOf, layoutOf, type Label, type Placed } from "../lib/heatmap";
import { pick, type Matrix } from "../lib/matrix";
import { range } from "../lib/range";
import { element, svgDocument, textElement } from "../lib/svg";
import { Figure, type FigureProps } from "./Figure";
import { Heatmap, type Cell, type HeatmapProps } from "./Heatmap";
import { pixels, tableFor } from "./paint";
import { Table } from "./Table";

type Props = Omit<HeatmapProps, "name"> &
  Pick<FigureProps, "title" | "caption" | "tools" | "exports" | "file" | "bare" | "className"> & {
    name?: string;
    before?: ComponentChildren;
  };

export function HeatmapFigure(props: Props) {
  const rows = props.rows.map(labelOf);
  const cols = props.cols.map(labelOf);
  const focus = props.active ?? props.locked ?? { row: 0, col: 0 };
  return (
    <Figure
      title={props.title}
      caption={props.caption}
      tools={props.tools}
      exports={props.exports}
      file={props.file}
      bare={props.bare}
      className={props.className}
      table={() => matrixTable(props.matrix, rows, cols)}
      twin={() => <MatrixTable matrix={props.matrix} rows={rows} cols={cols} focus={focus} label={props.title} />}
      svg={(inDark) => heatmapSvg({ ...props, rows, cols }, inDark)}
    >
      {props.before}
      <Heatmap {...props} name={props.name ?? props.title} />
    </Figure>
  );
}

/** The matrix as a table: row labels, then one column per column label. */
export const matrixTable = (m: Matrix, rows: readonly Label[], cols: readonly Label[]): TableData => ({
  head: ["", ...cols.map((label) => label.text)],
  rows: rows.map((label, r) => [label.text, ...Array.from(m.data.subarray(r * m.cols, (r + 1) * m.cols))]),
});

const WINDOW = 60;

interface MatrixTableProps {
  matrix: Matrix;
  rows: readonly Label[];
  cols: readonly Label[];
  focus: Cell;
  label: string;
}

/** A real table of at most 60 × 60 cells around the focus. */
export function MatrixTable({ matrix, rows, cols, focus, label }: MatrixTableProps) {
  const [r0, r1] = around(focus.row, matrix.rows, WINDOW);
  const [c0, c1] = around(focus.col, matrix.cols, WINDOW);
  const part = pick(matrix, range(r1 - r0, r0), range(c1 - c0, c0));
  const cut = part.data.length < matrix.data.length;
  return (
    <Table
      label={label}
      data={matrixTable(part, rows.slice(r0, r1), cols.slice(c0, c1))}
      marked={[focus.row - r0, focus.col - c0]}
      langs={{ rows: rows[r0]?.lang, cols: cols[c0]?.lang }}
      caption={cut ? t("figure.window", { r0: r0 + 1, r1, rows: matrix.rows, c0: c0 + 1, c1, cols: matrix.cols }) : undefined}
    />
  );
}

const SHAPES = 2500;

/** The matrix as an SVG document: true shapes up to 2,500 cells, above that one embedded picture; text stays text. */
export function heatmapSvg(
  props: Omit<HeatmapProps, "name"> & { title: string; rows: readonly Label[]; cols: readonly Label[] },
  inDark: boolean,
): string {
  const { matrix: m, scale = {}, rows, cols } = props;
  const layout = layoutOf({ rows, cols, width: 1200, maxCell: 32, maxHeight: props.free ? 480 : 1200, rtl: props.rtl, free: props.free });
  const { left, top, cellWidth: w, cellHeight: h } = layout;
  const ink = inDark ? "#ececf0" : "#1b1c20";
  const muted = inDark ? "#a3a7b3" : "#5d606a";
  const head = 40;
  let body = "";
  if (m.rows * m.cols <= SHAPES) {
    const table = tableFor(scale, inDark);
    for (let r = 0; r < m.rows; r++)
      for (let c = 0; c < m.cols; c++) {
        const i = r * m.cols + c;
        if (props.mask && !props.mask[i]) continue;
        const entry = entryOf(m.data[i], scale);
        const x = left + (props.rtl ? m.cols - 1 - c : c) * w;
        const y = head + top + r * h;
        body += element("rect", { x, y, width: w - 1, height: h - 1, fill: css(table, entry) });
        const text = w >= 26 ? (props.format ?? weight)(m.data[i]) : "";
        if (text && text.length * 5.6 < w)
          body += textElement(text, {
            x: x + (w - 1) / 2,
            y: y + h / 2 + 3.5,
            "text-anchor": "middle",
            "font-size": 10,
            fill: inkOn(table, entry),
          });
      }
  } else {
    const turn = props.rtl ? `translate(${left + w * m.cols} ${head + top}) scale(-1 1)` : `translate(${left} ${head + top})`;
    body += element("image", {
      href: pixels(m, scale, inDark, props.mask).toDataURL(),
      transform: turn,
      width: w * m.cols,
      height: h * m.rows,
      preserveAspectRatio: "none",
      "image-rendering": "pixelated",
    });
  }
  body += textElement(props.title, { x: 12, y: 24, "font-size": 15, "font-weight": 600, fill: ink });
  for (const label of layout.rowLabels)
    body += textElement(label.text, { x: label.x, y: label.y + head + 4, "text-anchor": "end", "font-size": FONT, fill: muted });
  for (const label of layout.colLabels) body += columnLabel(label, head, muted);
  return svgDocument(Math.max(layout.width + 16, 240), layout.height + head + 16, inDark ? "#1a1b1f" : "#ffffff", props.title, body);
}

function columnLabel(label: Placed, head: number, fill: string): string {
  const y = label.y + head;
  if (label.mode === "upright") {
    return label.parts
      .map((part, i) =>
        textElement(part, { x: label.x, y: y - (label.parts.length - 1 - i) * 13.5, "text-anchor": "middle", "font-size": FONT, fill }),
      )
      .join("");
  }
  const rotated = label.mode === "rotated";
  return textElement(label.text, {
    transform: `translate(${label.x + (rotated ? 4 : 0)} ${y})${rotated ? " rotate(-60)" : ""}`,
    "text-anchor": rotated ? "start" : "middle",
    "font-size": FONT,
    fill,
  });
}
