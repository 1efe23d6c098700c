/** What the Map draws of a model: strips of vectors and the boxes between them, in the order of computation. */
import type { Kind, Manifest } from "../../api-types";
import { axesOf, type Pass } from "../forward";
import { range } from "../range";

export type Side = "encoder" | "decoder";
export type Part =
  | "embedding"
  | "enc_self"
  | "dec_self"
  | "cross"
  | "ffn"
  | "recurrence"
  | "bridge"
  | "score"
  | "weights"
  | "context"
  | "attentional"
  | "copy"
  | "logits"
  | "softmax";

/** Vectors, one for each token of a side: a column of small heat strips. */
export interface Strip {
  readonly type: "strip";
  readonly id: string;
  readonly side: Side;
  /** from 1; 0 for what belongs to no layer */
  readonly layer: number;
  readonly after: Part;
  /** its place in the forward pass; -1 where that cannot be had */
  readonly place: number;
  /** the tensor of the trace that stands in without a forward pass; null: it stays empty */
  readonly need: string | null;
}

/** A computation that leads from one strip to the next. */
export interface Box {
  readonly type: "box";
  readonly id: string;
  readonly side: Side;
  readonly layer: number;
  readonly part: Part;
  /** strips before and behind it; null at the ends */
  readonly from: string | null;
  readonly to: string | null;
  /** parameters of the address of Inside that show it */
  readonly inside: Readonly<Record<string, string | number | null>>;
}
export type Item = Strip | Box;

export interface Plan {
  readonly arch: string;
  readonly items: readonly Item[];
  /** the strip that the decoder looks at; null where it cannot */
  readonly memory: string | null;
  /** layers of each side that are drawn apart */
  readonly layers: Readonly<Record<Side, number>>;
  /** whether the states between the parts are known: a forward pass was given */
  readonly passed: boolean;
}

/** The kind of attention behind a part; null for one that is none. */
export const kindOfPart = (part: Part): Kind | null =>
  part === "score" || part === "weights" || part === "context" || part === "attentional"
    ? "cross"
    : part === "enc_self" || part === "dec_self" || part === "cross" || part === "copy"
      ? part
      : null;

const NOWHERE = { tab: null, n: null, k: null, l: null, h: null, stage: null, z: null, ph: null };
const STAGES: Readonly<Partial<Record<Part, number>>> = { weights: 4, context: 5, attentional: 6 };

export function planOf(manifest: Manifest, pass: Pass | null): Plan {
  const plan = new Maker(pass);
  const { arch, kinds, layers } = manifest.model;
  const recurrent = manifest.rnn !== null;
  plan.embed("encoder");
  if (recurrent) plan.recur("encoder", layers.encoder);
  else for (const layer of range(layers.encoder, 1)) plan.layer("encoder", layer);
  const memory = plan.last;
  if (recurrent) plan.add("encoder", 0, "bridge", -1, "rnn.bridge");
  plan.embed("decoder");
  if (recurrent) plan.recur("decoder", layers.decoder);
  else for (const layer of range(layers.decoder, 1)) plan.layer("decoder", layer);
  if (recurrent && kinds.cross) plan.look();
  if (kinds.copy) plan.box("decoder", 0, "copy", null);
  plan.box("decoder", 0, "logits", null);
  plan.box("decoder", 0, "softmax", null);
  return {
    arch,
    items: plan.items,
    memory: !recurrent || kinds.cross ? memory : null,
    layers: recurrent ? { encoder: 0, decoder: 0 } : layers,
    passed: pass !== null,
  };
}

class Maker {
  readonly items: Item[] = [];
  last: string | null = null;

  constructor(private readonly pass: Pass | null) {}

  /** The place of the last tensor of a stage that is one vector for each token; `part` begins its name. */
  private state(stage: string, part = "", side: Side = "encoder"): number {
    const rows = side === "encoder" ? "S" : "T";
    const fits = (one: Pass["tensors"][number]) =>
      one.stage === stage && one.how !== "given" && one.operation.startsWith(part) && axesOf(one).join() === `${rows},D`;
    return this.pass?.tensors.findLastIndex(fits) ?? -1;
  }

  private first(stage: string, part: string): number {
    return this.pass?.tensors.findIndex((one) => one.stage === stage && one.operation.startsWith(part)) ?? -1;
  }

  box(side: Side, layer: number, part: Part, to: string | null, place = -1): void {
    this.items.push({
      type: "box",
      id: `${side}.${layer}.${part}`,
      side,
      layer,
      part,
      from: this.last,
      to,
      inside: this.inside(side, layer, part, place),
    });
  }

  private inside(side: Side, layer: number, part: Part, place: number): Box["inside"] {
    const kind = kindOfPart(part);
    if (kind) return { ...NOWHERE, k: kind, l: Math.max(1, layer), stage: STAGES[part] ?? null };
    if (part === "recurrence" || part === "bridge") return { ...NOWHERE, tab: "recurrence" };
    const own =
      part === "ffn"
        ? this.first(`${side} layer ${layer}`, "FFN: h =")
        : part === "logits" || part === "softmax"
          ? this.first("output", part === "logits" ? "logits" : "p =")
          : place;
    return { ...NOWHERE, tab: part === "embedding" && own < 0 ? "positions" : "layers", n: own < 0 ? null : own };
  }

  add(side: Side, layer: number, part: Part, place: number, need: string | null): void {
    const id = `${side}.${layer}.${part}.out`;
    this.box(side, layer, part, id, place);
    this.items.push({ type: "strip", id, side, layer, after: part, place, need });
    this.last = id;
  }

  embed(side: Side): void {
    this.last = null;
    const places = this.pass?.tensors.map((one, n) => ({ one, n })) ?? [];
    const rows = side === "encoder" ? "S" : "T";
    const found = places.filter(
      ({ one }) => one.stage === side && !/^layer \d/.test(one.operation) && one.how !== "given" && axesOf(one).join() === `${rows},D`,
    );
    this.add(side, 0, "embedding", found.filter(({ one }) => one.how !== "same").at(-1)?.n ?? -1, null);
  }

  layer(side: Side, layer: number): void {
    const stage = `${side} layer ${layer}`;
    const out = (kind: Kind) => `${kind}.out:${layer - 1}`;
    if (side === "encoder") this.add(side, layer, "enc_self", this.state(stage, "self-attention", side), out("enc_self"));
    else {
      this.add(side, layer, "dec_self", this.state(stage, "masked self-attention", side), out("dec_self"));
      this.add(side, layer, "cross", this.state(stage, "cross-attention", side), out("cross"));
    }
    this.add(side, layer, "ffn", this.state(stage, "FFN", side), null);
  }

  /** One column for each layer of a recurrent side; without a forward pass only the last is known. */
  recur(side: Side, layers: number): void {
    for (const layer of range(layers, 1)) {
      const last = layer === layers;
      const place = this.state(side, `layer ${layer}`, side);
      if (last || place >= 0) this.add(side, layer, "recurrence", place, last ? `rnn.${side}` : null);
    }
  }

  /** Luong's attention: scores, their softmax, the context, and what is made of it and the state. */
  look(): void {
    const at = (operation: string) => this.first("attention", operation);
    this.box("decoder", 0, "score", null);
    this.box("decoder", 0, "weights", null);
    this.add("decoder", 0, "context", at("c_t"), "cross.context:0.0");
    this.add("decoder", 0, "attentional", at("s̃_t"), "cross.out:0");
  }
}

export const boxesOf = (plan: Plan): Box[] => plan.items.filter((item) => item.type === "box");
export const stripsOf = (plan: Plan): Strip[] => plan.items.filter((item) => item.type === "strip");

/** The need of a strip's numbers; null where they cannot be had. */
export const needOfStrip = (strip: Strip): string | null => (strip.place >= 0 ? `forward.tensor:${strip.place}` : strip.need);

/** Strips whose numbers fit into so many bytes, ends of layers first; the others stay empty. */
export function affordable(plan: Plan, bytes: (strip: Strip) => number, most: number): Strip[] {
  const wanted = stripsOf(plan).filter((strip) => needOfStrip(strip) !== null);
  const rank = ({ after }: Strip) => (after === "enc_self" || after === "dec_self" || after === "cross" ? 1 : 0);
  let left = most;
  const taken = new Set(
    wanted
      .map((strip, n) => ({ strip, n }))
      .sort((a, b) => rank(a.strip) - rank(b.strip) || a.n - b.n)
      .filter(({ strip }) => {
        left -= bytes(strip);
        return left >= 0;
      })
      .map(({ strip }) => strip),
  );
  return wanted.filter((strip) => taken.has(strip));
}
