/** Who may look at whom: the masks of the three families over the same tokens, first a source, then a target. */
import { matrix, row, type Matrix } from "./matrix";

export const FAMILY = ["encoder", "decoder", "both"] as const;
export type Member = (typeof FAMILY)[number];

/** Whether token `q` sees token `k`, of `source` tokens that are read and others that are written after them. */
export function sees(member: Member, q: number, k: number, source: number): boolean {
  if (member === "encoder") return true;
  if (member === "decoder") return k <= q;
  return k < source || (q >= source && k <= q);
}

/** The mask, row by row: 1 where the row's token sees the column's. */
export function maskOf(member: Member, source: number, target: number): Uint8Array {
  const n = source + target;
  return Uint8Array.from({ length: n * n }, (_, i) => Number(sees(member, Math.floor(i / n), i % n, source)));
}

/** What a model with both halves has: self-attention of each, and cross-attention between them. */
export interface Weights {
  readonly encoder: Matrix;
  readonly decoder: Matrix;
  readonly cross: Matrix;
}

/** The weights where they belong among all tokens; 0 where this model has none to show. */
export function underMask(member: Member, { encoder, decoder, cross }: Weights): Matrix {
  const source = encoder.rows;
  const out = matrix(source + decoder.rows, source + decoder.rows);
  const lay = (of: Matrix, top: number, left: number) => {
    for (let r = 0; r < of.rows; r++) out.data.set(row(of, r), (top + r) * out.cols + left);
  };
  if (member !== "decoder") lay(encoder, 0, 0);
  if (member !== "encoder") lay(decoder, source, source);
  if (member === "both") lay(cross, source, 0);
  return out;
}
