/** Geometry of a matrix with labels: pure, so that screen, export and tests agree. */
import { graphemes, isUpright, shorten, thin, widthOf } from "./labels";

export interface Label {
  readonly text: string;
  readonly lang?: string;
  /** drawn faint: special tokens, folded parts */
  readonly dim?: boolean;
}
export const labelOf = (label: Label | string): Label => (typeof label === "string" ? { text: label } : label);

export const FONT = 12;
const LINE = 13.5;
const SIN = Math.sin(Math.PI / 3);
const COS = 0.5;
const ROW_CHARS = 18;
const COL_CHARS = 14;

export interface Placed {
  readonly index: number;
  readonly text: string;
  readonly full: string;
  readonly x: number;
  readonly y: number;
  readonly mode: "row" | "flat" | "upright" | "rotated";
  /** the characters of an upright label, top to bottom */
  readonly parts: readonly string[];
  readonly dim: boolean;
  readonly lang?: string;
}
export interface Layout {
  readonly left: number;
  readonly top: number;
  readonly cellWidth: number;
  readonly cellHeight: number;
  readonly width: number;
  readonly height: number;
  readonly rowLabels: readonly Placed[];
  readonly colLabels: readonly Placed[];
}
export interface LayoutInput {
  readonly rows: readonly Label[];
  readonly cols: readonly Label[];
  /** pixels there are */
  readonly width: number;
  readonly maxCell: number;
  readonly maxHeight: number;
  /** indices always labelled: the hovered row and column */
  readonly row?: number;
  readonly col?: number;
  /** the columns run from right to left */
  readonly rtl?: boolean;
  /** room kept at the right, for a margin bar */
  readonly margin?: number;
  /** cells need not be square: rows fill the height, columns the width */
  readonly free?: boolean;
}

type Mode = Placed["mode"];
const isShort = (text: string) => graphemes(text).length <= 3;

function modeOf(text: string, cell: number, numbers: boolean): Mode {
  if (numbers || widthOf(text) * FONT <= cell - 3 || graphemes(text).length === 1) return "flat";
  return isUpright(text) ? "upright" : isShort(text) && cell >= 22 ? "flat" : "rotated";
}

/** Size of cells and place of every label for the room there is. */
export function layoutOf(input: LayoutInput): Layout {
  const { rows, cols } = input;
  const rowTexts = rows.map((label) => shorten(label.text, ROW_CHARS));
  const colTexts = cols.map((label) => shorten(label.text, COL_CHARS));
  const numbers = colTexts.length > 0 && colTexts.every((text) => /^\d+$/.test(text)); // numbers are left out where they do not fit, never turned
  const widest = Math.max(0, ...rowTexts.map(widthOf)) * FONT;
  const left = Math.ceil(Math.min(widest + 14, Math.max(48, input.width * 0.38)));
  const margin = input.margin ?? 0;
  const room = (right: number) => Math.max(1, input.width - left - right - margin);
  const fit = (right: number) => Math.min(input.maxCell, room(right) / Math.max(1, cols.length));
  const overhang = (cell: number) => {
    let most = 0;
    colTexts.forEach((text, c) => {
      if (modeOf(text, cell, numbers) !== "rotated") return;
      const after = (cols.length - 1 - (input.rtl ? cols.length - 1 - c : c) + 0.5) * cell;
      most = Math.max(most, widthOf(text) * FONT * COS + 8 - after);
    });
    return Math.ceil(most);
  };
  const guess = fit(0);
  const right = overhang(guess);
  let cellWidth = fit(right);
  let cellHeight = Math.min(input.maxCell, input.free ? Infinity : cellWidth, Math.max(1, input.maxHeight / Math.max(1, rows.length)));
  if (!input.free && cellWidth > cellHeight * 2.2 && cols.length > 3) cellWidth = Math.max(cellHeight * 2.2, 1);
  if (cellWidth >= 8) cellWidth = Math.floor(cellWidth);
  if (cellHeight >= 8) cellHeight = Math.floor(cellHeight);

  const modes = colTexts.map((text) => modeOf(text, cellWidth, numbers));
  const heights = colTexts.map((text, c) => {
    if (modes[c] === "flat") return LINE;
    if (modes[c] === "upright") return graphemes(text).length * LINE;
    return widthOf(text) * FONT * SIN + FONT * 0.8;
  });
  const top = Math.ceil(Math.max(0, ...heights)) + 8;
  const shownRows = thin(rows.length, cellHeight, LINE, input.row === undefined ? [] : [input.row]);
  const shownCols = thin(
    cols.length,
    cellWidth,
    numbers ? Math.max(...colTexts.map(widthOf)) * FONT + 5 : LINE,
    input.col === undefined ? [] : [input.col],
  );

  const rowLabels: Placed[] = [];
  rows.forEach((label, i) => {
    if (!shownRows[i]) return;
    rowLabels.push({
      index: i,
      text: rowTexts[i],
      full: label.text,
      x: left - 9,
      y: top + (i + 0.5) * cellHeight,
      mode: "row",
      parts: [],
      dim: label.dim ?? false,
      lang: label.lang,
    });
  });
  const colLabels: Placed[] = [];
  cols.forEach((label, i) => {
    if (!shownCols[i]) return;
    const seen = input.rtl ? cols.length - 1 - i : i;
    const x = left + (seen + 0.5) * cellWidth;
    colLabels.push({
      index: i,
      text: colTexts[i],
      full: label.text,
      x,
      y: top - 8,
      mode: modes[i],
      parts: modes[i] === "upright" ? graphemes(colTexts[i]) : [],
      dim: label.dim ?? false,
      lang: label.lang,
    });
  });
  return {
    left,
    top,
    cellWidth,
    cellHeight,
    width: Math.ceil(left + cols.length * cellWidth + right + margin),
    height: Math.ceil(top + rows.length * cellHeight),
    rowLabels,
    colLabels,
  };
}

export interface View {
  readonly r0: number;
  readonly c0: number;
  readonly rows: number;
  readonly cols: number;
}

/** The window after zooming by `factor` around a cell, kept inside the matrix. */
export function zoomed(view: View, total: { rows: number; cols: number }, at: { row: number; col: number }, factor: number): View {
  const rows = Math.max(Math.min(4, total.rows), Math.min(total.rows, Math.round(view.rows * factor)));
  const cols = Math.max(Math.min(4, total.cols), Math.min(total.cols, Math.round(view.cols * factor)));
  const fr = (at.row - view.r0 + 0.5) / view.rows;
  const fc = (at.col - view.c0 + 0.5) / view.cols;
  return panned({ r0: Math.round(at.row + 0.5 - fr * rows), c0: Math.round(at.col + 0.5 - fc * cols), rows, cols }, total, 0, 0);
}

/** The window moved by rows and columns, kept inside the matrix. */
export function panned(view: View, total: { rows: number; cols: number }, rows: number, cols: number): View {
  const clamp = (value: number, most: number) => Math.max(0, Math.min(most, value));
  return { ...view, r0: clamp(view.r0 + rows, total.rows - view.rows), c0: clamp(view.c0 + cols, total.cols - view.cols) };
}

/** The window moved as little as needed to hold a cell. */
export function reveal(view: View, total: { rows: number; cols: number }, cell: { row: number; col: number }): View {
  const by = (at: number, from: number, size: number) => (at < from ? at - from : at >= from + size ? at - from - size + 1 : 0);
  return panned(view, total, by(cell.row, view.r0, view.rows), by(cell.col, view.c0, view.cols));
}

/** At most `size` neighbours around an index: the window of the table twin. */
export function around(at: number, count: number, size: number): [number, number] {
  const from = Math.max(0, Math.min(count - size, at - Math.floor(size / 2)));
  return [Math.max(0, from), Math.min(count, Math.max(0, from) + size)];
}
