/** What happens at a moment of the story, in words with the real numbers. */
import type { Manifest } from "../api-types";
import { t } from "../i18n";
import { norm } from "../lib/arithmetic";
import { fixed, percent } from "../lib/format";
import type { Box, Part, Side } from "../lib/map/plan";
import { kindOfPart } from "../lib/map/plan";
import { linksOf } from "../lib/map/shapes";
import { boxAt, type Moment, type Story } from "../lib/map/timing";
import { row, type Matrix } from "../lib/matrix";
import type { MapData } from "./data";

export const layerName = (side: Side, layer: number): string =>
  layer === 0
    ? t(side === "encoder" ? "map.encoder" : "map.decoder")
    : t(side === "encoder" ? "map.encoder_n" : "map.decoder_n", { n: layer });
export const partName = (part: Part): string => t(`map.part_${part}`);
export const boxName = (box: Box): string => t("map.box", { layer: layerName(box.side, box.layer), part: partName(box.part) });

export interface Names {
  readonly encoder: readonly string[];
  readonly decoder: readonly string[];
  readonly answer: readonly string[];
}

/** Numbers of stages are Luong's; other models have other stages. */
const numbered = (manifest: Manifest, text: string) => (manifest.model.arch === "luong" ? text : text.replace(/^[①-⑥] /, ""));

/** The strongest look of a layer at something else than itself. */
function telling(m: Matrix): { q: number; k: number; w: number } {
  let best = { q: 0, k: 0, w: -1 };
  for (let q = 0; q < m.rows; q++)
    for (let k = 0; k < m.cols; k++) if (q !== k && m.data[q * m.cols + k] > best.w) best = { q, k, w: m.data[q * m.cols + k] };
  return best;
}

export function say(manifest: Manifest, data: MapData, story: Story, moment: Moment, names: Names): string {
  const box = boxAt(story, moment);
  if (!box) return ending(manifest, moment.step, names);
  const { step } = moment;
  const [q, s, d] = [names.decoder[step] ?? "", names.encoder.length, manifest.model.d_model];
  const layer = layerName(box.side, box.layer);
  const kind = kindOfPart(box.part);
  const m = kind && data.weights(kind, Math.max(1, box.layer));
  const heads = kind ? (manifest.model.kinds[kind]?.heads ?? 1) : 1;
  const top = m && linksOf(m, step, 1, 0)[0];
  const keys = box.part === "dec_self" ? names.decoder : names.encoder;
  const looks = { layer, q, k: top ? (keys[top.from] ?? "") : "…", w: top ? fixed(top.weight, 2) : "…" };
  switch (box.part) {
    case "embedding":
      if (box.side === "decoder") return t("map.say_write_embedding", { q, d });
      return t(manifest.rnn ? "map.say_read_recurrent_embedding" : "map.say_read_embedding", { s, d });
    case "enc_self": {
      const best = m ? telling(m) : { q: 0, k: 0, w: 0 };
      return t("map.say_enc_self", {
        layer,
        q: names.encoder[best.q] ?? "",
        k: names.encoder[best.k] ?? "",
        w: fixed(Math.max(0, best.w), 2),
        h: heads,
      });
    }
    case "recurrence": {
      if (box.side === "encoder") return t("map.say_read_recurrence");
      const states = box.to ? data.strip(box.to) : null;
      const text = t("map.say_write_recurrence", { q, norm: states && step < states.rows ? fixed(norm(row(states, step)), 2) : "…" });
      return numbered(manifest, text);
    }
    case "bridge":
      return t(manifest.model.kinds.cross ? "map.say_bridge_seen" : "map.say_bridge", {
        s,
        n: manifest.rnn!.bridge.reduce((a, b) => a * b, 1),
      });
    case "copy":
      return t("map.say_copy", { w: percent(manifest.steps[step]?.copied ?? 0) });
    case "ffn":
    case "dec_self":
    case "cross":
    case "score":
    case "weights":
    case "context":
    case "attentional":
    case "logits":
      return t(`map.say_${box.part}`, looks);
    case "softmax":
      return numbered(manifest, t("map.say_softmax"));
  }
}

function ending(manifest: Manifest, step: number, names: Names): string {
  const one = manifest.steps[step];
  const p = percent(Math.exp(one?.logprob ?? -Infinity));
  const y = names.answer[step] ?? "";
  const best = one?.top[0];
  if (best && best.id !== one.id && (best.logprob ?? 0) > (one.logprob ?? 0))
    return t("map.say_other", { y, p, best: best.text, b: percent(Math.exp(best.logprob ?? 0)) });
  return t(step === names.answer.length - 1 && manifest.decode.finished ? "map.say_end" : "map.say_token", { y, p });
}
