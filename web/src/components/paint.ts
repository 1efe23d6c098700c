/** Painting matrices: values through a 256-entry table into pixels, pixels scaled onto the screen. */
import { entryOf, inkOn, sequential, signedTable, type Scale } from "../lib/colour";
import type { Matrix } from "../lib/matrix";
import { maxPool } from "../lib/matrix";

export const tableFor = (scale: Scale, dark: boolean) => (scale.signed ? signedTable(dark) : sequential(dark));

/** An off-screen canvas with one pixel per cell; cells that `mask` forbids stay transparent. */
export function pixels(m: Matrix, scale: Scale, dark: boolean, mask?: ArrayLike<number>): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, m.cols);
  canvas.height = Math.max(1, m.rows);
  if (m.rows === 0 || m.cols === 0) return canvas;
  const context = canvas.getContext("2d")!;
  const image = context.createImageData(m.cols, m.rows);
  const table = new Uint32Array(tableFor(scale, dark).slice().buffer);
  const out = new Uint32Array(image.data.buffer);
  for (let i = 0; i < out.length; i++) out[i] = mask && !mask[i] ? 0 : table[entryOf(m.data[i], scale)];
  context.putImageData(image, 0, 0);
  return canvas;
}

export interface Frame {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** Sizes a canvas for the screen and returns its context in CSS pixels. */
export function prepare(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
  const ratio = Math.min(3, devicePixelRatio || 1);
  const [w, h] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext("2d")!;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.imageSmoothingEnabled = false;
  return context;
}

/** The matrix no finer than the device's pixels, by block maxima. */
export function forScreen(m: Matrix, width: number, height: number): Matrix {
  const ratio = Math.min(3, devicePixelRatio || 1);
  return maxPool(m, Math.max(1, Math.floor(height * ratio)), Math.max(1, Math.floor(width * ratio)));
}

/** Thin lines of the background between cells, where cells are large enough. */
export function gaps(context: CanvasRenderingContext2D, frame: Frame, rows: number, cols: number, colour: string): void {
  const [w, h] = [frame.width / cols, frame.height / rows];
  if (Math.min(w, h) < 12) return;
  context.fillStyle = colour;
  for (let r = 1; r < rows; r++) context.fillRect(frame.x, frame.y + r * h - 0.5, frame.width, 1);
  for (let c = 1; c < cols; c++) context.fillRect(frame.x + c * w - 0.5, frame.y, 1, frame.height);
}

/** Numbers inside cells of at least 26 pixels. */
export function figures(
  context: CanvasRenderingContext2D,
  frame: Frame,
  m: Matrix,
  scale: Scale,
  dark: boolean,
  format: (value: number) => string,
  order: (c: number) => number,
  mask?: ArrayLike<number>,
  isDim: (r: number, c: number) => boolean = () => false,
  dimInk = "",
): void {
  const [w, h] = [frame.width / m.cols, frame.height / m.rows];
  if (w < 26 || h < 20) return;
  const table = tableFor(scale, dark);
  context.font = `${w >= 34 ? 11 : 10}px ui-sans-serif, system-ui, sans-serif`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (let r = 0; r < m.rows; r++)
    for (let c = 0; c < m.cols; c++) {
      const i = r * m.cols + c;
      if (mask && !mask[i]) continue;
      const text = format(m.data[i]);
      if (!text || text.length * 5.6 > w - 2) continue;
      context.fillStyle = isDim(r, c) ? dimInk : inkOn(table, entryOf(m.data[i], scale));
      context.fillText(text, frame.x + (order(c) + 0.5) * w, frame.y + (r + 0.5) * h + 0.5);
    }
}
