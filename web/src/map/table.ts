/** The Map as a table: every stage of one step, where it looks, and the vector that it makes. */
import type { Manifest } from "../api-types";
import { t } from "../i18n";
import { norm, ranked } from "../lib/arithmetic";
import type { TableData } from "../lib/csv";
import { fixed } from "../lib/format";
import { boxesOf, kindOfPart } from "../lib/map/plan";
import { linksOf } from "../lib/map/shapes";
import { row } from "../lib/matrix";
import type { MapData } from "./data";
import { layerName, partName, type Names } from "./say";

export function mapTable(manifest: Manifest, data: MapData, names: Names, step: number): TableData {
  const boxes = boxesOf(data.plan).filter(({ part }) => part !== "logits" && part !== "softmax");
  const stages = boxes.map((box) => {
    const kind = kindOfPart(box.part);
    const weights = kind && data.weights(kind, Math.max(1, box.layer));
    const token = box.side === "decoder" ? step : names.encoder.length - 1;
    const top = weights ? linksOf(weights, token, 1, 0)[0] : undefined;
    const keys = kind === "dec_self" ? names.decoder : names.encoder;
    const m = box.to ? data.strip(box.to) : null;
    const vector = m && row(m, Math.min(token, m.rows - 1));
    const large = vector ? ranked(vector, 3).map((d) => `${d + 1}: ${fixed(vector[d], 2)}`) : [];
    return [
      `${layerName(box.side, box.layer)}, ${partName(box.part)}`,
      top ? (keys[top.from] ?? "") : null,
      top ? top.weight : null,
      vector ? norm(vector) : null,
      large.join(" · ") || null,
    ];
  });
  const offers = (manifest.steps[step]?.top ?? []).map((one) => [
    partName("softmax"),
    one.text,
    Math.exp(one.logprob ?? -Infinity),
    null,
    null,
  ]);
  return {
    head: [t("map.col_stage"), t("map.col_looks"), t("map.col_weight"), t("map.col_length"), t("map.col_largest")],
    rows: [...stages, ...offers],
  };
}
