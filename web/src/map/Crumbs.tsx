/** From the whole model to one cell: where the reader is, and the way back. */
import type { Manifest } from "../api-types";
import { t } from "../i18n";
import { range } from "../lib/range";
import { params, setParams } from "../state";
import { choiceOf } from "../screens/inside/head";
import { layerName } from "./say";

export function Crumbs({ manifest }: { manifest: Manifest }) {
  const choice = choiceOf(params.value, manifest);
  const layered = manifest.rnn === null;
  const asked = Number(params.value.z ?? 0);
  const level = choice && asked >= 1 && asked <= 3 ? asked : 0;
  if (!choice) return null;
  const side = choice.kind === "enc_self" ? "encoder" : "decoder";
  const names: Readonly<Record<number, string>> = {
    0: t("map.whole"),
    1: layerName(side, choice.layer + 1),
    2: `${t(`attention.kind_${choice.kind}`)} · ${t("map.head_n", { n: choice.head + 1 })}`,
    3: t("map.cell"),
  };
  const levels = [0, 1, 2, 3].filter((n) => n !== 1 || (layered && choice.kind !== "copy"));
  const show = (z: number) =>
    setParams(
      { z: z || null, c: null, ...(z > 0 ? { k: choice.kind, l: choice.layer + 1 } : {}), ...(z > 1 ? { h: choice.head + 1 } : {}) },
      { push: true },
    );
  return (
    <nav class="row map-crumbs" aria-label={t("map.levels")}>
      {levels.map((z, n) => (
        <span key={z} class="row">
          {n > 0 && (
            <span class="faint" aria-hidden="true">
              {"›"}
            </span>
          )}
          <button type="button" class="chip" aria-current={z === level ? "step" : undefined} onClick={() => show(z)}>
            {names[z]}
          </button>
        </span>
      ))}
      {level >= 1 && choice.size.layers > 1 && (
        <Pick
          label={t("inside.layer")}
          value={choice.layer}
          count={choice.size.layers}
          onPick={(l) => setParams({ l: l + 1 }, { push: true })}
        />
      )}
      {level >= 2 && choice.size.heads > 1 && (
        <Pick
          label={t("inside.head")}
          value={choice.head}
          count={choice.size.heads}
          onPick={(h) => setParams({ h: h + 1 }, { push: true })}
        />
      )}
    </nav>
  );
}

const Pick = ({ label, value, count, onPick }: { label: string; value: number; count: number; onPick(n: number): void }) => (
  <label class="field">
    {label}
    <select class="select" value={String(value)} onChange={(event) => onPick(Number(event.currentTarget.value))}>
      {range(count).map((n) => (
        <option key={n} value={String(n)} selected={n === value}>
          {n + 1}
        </option>
      ))}
    </select>
  </label>
);
