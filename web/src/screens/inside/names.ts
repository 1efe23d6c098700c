/** Stages and tensors of a forward pass in the language of the page. The server names them in English; what is mathematics stays as it is. */
import { t, type MessageKey } from "../../i18n";
import type { Pass } from "../../lib/forward";

const STAGES: Readonly<Record<string, MessageKey>> = {
  source: "layers.source",
  target: "layers.target",
  memory: "layers.memory",
  attention: "layers.attention",
  copying: "layers.copying",
  output: "layers.output",
};

const OPERATIONS: Readonly<Record<string, MessageKey>> = {
  ids: "layers.ids",
  "ids, shifted right": "layers.ids_shifted",
  "y, the right ids": "layers.right_ids",
  patches: "layers.patches",
  "embedding · √D": "layers.embedding_scaled",
  embedding: "layers.embedding",
  "bias, by distance": "layers.bias",
  "mean of squares": "layers.square",
  "X, embedding": "layers.x_embedding",
  "y, embedding": "layers.y_embedding",
  positions: "layers.positions",
  "+ positions": "layers.plus_positions",
  "angles, sin and cos": "layers.angles",
  "Q, before its positions": "layers.q_before",
  "K, before its positions": "layers.k_before",
  mask: "layers.mask",
  "weights V": "layers.weights_v",
  "Concat(heads)": "layers.concat",
  "Concat(heads) W_O": "layers.concat_w",
  "add, x + f(x)": "layers.add",
  mean: "layers.mean",
  variance: "layers.variance",
  norm: "layers.norm",
  "H, which the decoder never sees": "layers.h_never",
  "H, seen at every step": "layers.h_seen",
  "h_final: the fixed vector, all that the decoder gets": "layers.fixed",
  "h_final, where the decoder starts": "layers.starts",
  "seen by every decoder layer": "layers.seen",
  logits: "layers.logits",
  "logits, before copying": "layers.logits_before",
  "p = softmax(logits)": "layers.p",
  "-log p(y), of each token": "layers.each",
  "loss = -1/N · sum log p(y)": "layers.loss",
  "1 - g: the share copied": "layers.share",
};

const PARTS: Readonly<Record<string, MessageKey>> = {
  "self-attention": "layers.self_attention",
  "masked self-attention": "layers.masked_self_attention",
  "cross-attention": "layers.cross_attention",
  FFN: "layers.ffn",
  before: "layers.before",
  embedding: "layers.embedding",
};

export function stageName(stage: string, pass: Pass): string {
  const layer = /^(encoder|decoder) layer (\d+)$/.exec(stage);
  const deep = pass.model.arch === "transformer";
  if (layer) return t(layer[1] === "encoder" ? "layers.encoder_layer" : "layers.decoder_layer", { n: layer[2] });
  if (stage === "encoder") return t(deep ? "layers.encoder" : "layers.encoder_cell");
  if (stage === "decoder") return t(deep ? "layers.decoder" : "layers.decoder_cell");
  return STAGES[stage] ? t(STAGES[stage]) : stage;
}

/** The sub-layer that a tensor is in, e.g. "self-attention"; empty for one that is in none. */
export function partName(operation: string): string {
  if (OPERATIONS[operation] || !operation.includes(": ")) return "";
  const part = operation.slice(0, operation.indexOf(": "));
  const cell = /^layer (\d+)( [→←])?$/.exec(part);
  if (cell) return t("layers.cell_layer", { n: cell[1] }) + (cell[2] ?? "");
  return PARTS[part] ? t(PARTS[part]) : part;
}

/** What a tensor is, without its sub-layer. */
export function tensorName(operation: string): string {
  const own = partName(operation) ? operation.slice(operation.indexOf(": ") + 2) : operation;
  return OPERATIONS[own] ? t(OPERATIONS[own]) : own;
}
