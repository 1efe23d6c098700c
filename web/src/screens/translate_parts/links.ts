/** What the ribbons show: attention of the last layer, of one head, what was copied, or influence, as one matrix of target × source tokens. */
import type { InfluenceOut, Manifest } from "../../api-types";
import { getInfluence } from "../../api";
import { useResource, useTensors, type Resource } from "../../hooks";
import { t } from "../../i18n";
import { combine, extent, fromRows, matrix, type Matrix } from "../../lib/matrix";
import { lastLayer } from "../../lib/needs";
import { params } from "../../state";

export type Source = "mean" | "max" | "copy" | "influence" | `${number}.${number}`;

export interface Links {
  readonly source: Source;
  readonly matrix: Matrix | null;
  /** value of the widest ribbon */
  readonly max: number;
  readonly signed: boolean;
  /** the tensors behind it, none for influence */
  readonly needs: readonly string[];
  readonly status: Resource<unknown>;
}

/** What is shown unless the address says otherwise: where a model that copies took its tokens from. */
export const usualSource = (manifest: Manifest | null): Source => (manifest?.model.kinds.copy ? "copy" : "mean");

/** The choice of the address (`r`), as far as the model allows it. */
export function sourceOf(manifest: Manifest | null): Source {
  const cross = manifest?.model.kinds.cross;
  if (!cross) return "influence";
  const wanted = params.value.r ?? usualSource(manifest);
  const [layer, head] = wanted.split(".").map(Number);
  if (layer >= 1 && layer <= cross.layers && head >= 1 && head <= cross.heads) return `${layer}.${head}`;
  if (wanted === "copy") return usualSource(manifest);
  return wanted === "max" || wanted === "influence" ? wanted : "mean";
}

/** The heads whose attention the ribbons are; null where they are something else, which cannot be cut. */
export function headsOf(manifest: Manifest, source: Source): { readonly layer: number; readonly head: number | "*" } | null {
  const cross = manifest.model.kinds.cross;
  if (!cross || source === "influence" || source === "copy") return null;
  if (source === "mean" || source === "max") return { layer: cross.layers - 1, head: "*" };
  const [layer, head] = source.split(".").map(Number);
  return { layer: layer - 1, head: head - 1 };
}

export function sourceName(source: Source): string {
  if (source === "mean") return t("translate.mean_short");
  if (source === "max") return t("translate.max_short");
  if (source === "influence") return t("translate.influence");
  if (source === "copy") return t("translate.copy");
  const [layer, head] = source.split(".");
  return t("translate.one_head", { layer, head });
}

/** Tensors that a choice needs; layers and heads count from 0 in them. */
function needsOf(manifest: Manifest | null, source: Source): string[] {
  const cross = manifest?.model.kinds.cross;
  if (!cross || source === "influence") return [];
  if (source === "copy") return ["copy.weights:0.0"];
  if (source === "mean" || source === "max") return lastLayer(cross);
  const [layer, head] = source.split(".").map(Number);
  return [`cross.weights:${layer - 1}.${head - 1}`];
}

/** InfluenceOut of words spread over their tokens: each token of a word carries the word's value. */
export function spread(influence: InfluenceOut, sourceTokens: number): Matrix {
  const m = fromRows(influence.values);
  const out = matrix(m.rows, sourceTokens);
  influence.units.forEach((unit, u) => {
    for (let r = 0; r < m.rows; r++) for (const token of unit.tokens) out.data[r * sourceTokens + token] = m.data[r * m.cols + u];
  });
  return out;
}

export function useLinks(manifest: Manifest | null): Links {
  const source = sourceOf(manifest);
  const needs = needsOf(manifest, source);
  const tensors = useTensors(manifest?.id, needs);
  const asks = manifest !== null && source === "influence";
  const influence = useResource(
    asks ? `influence ${manifest.id} words` : null,
    (signal) => getInfluence(manifest!.id, "words", "unk", signal),
    { cache: true },
  );
  if (manifest && source === "influence") {
    const found = influence.status === "ready" && influence.value ? spread(influence.value, manifest.source.tokens.length) : null;
    return { source, matrix: found, max: Math.max(0.5, found ? extent(found.data)[1] : 1), signed: true, needs, status: influence };
  }
  const found = needs.map((need) => tensors.value?.get(need)).filter((tensor) => tensor !== undefined);
  // of what a token points at, as much as it copied
  const share = (row: number) => (source === "copy" ? (manifest?.steps[row]?.copied ?? 0) : 1);
  const all = found.map(({ shape: [rows, cols], data }) =>
    matrix(
      rows,
      cols,
      (data as Float32Array).map((value, i) => value * share(Math.floor(i / cols))),
    ),
  );
  const fits =
    all.length > 0 &&
    all.length === needs.length &&
    all[0].rows === manifest?.target.tokens.length &&
    all[0].cols === manifest.source.tokens.length;
  return { source, matrix: fits ? combine(all, source === "max" ? "max" : "mean") : null, max: 1, signed: false, needs, status: tensors };
}
