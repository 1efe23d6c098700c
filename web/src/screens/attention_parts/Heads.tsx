/** The grid of heads with its sorting and colouring. */
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Manifest, SweepOut } from "../../api-types";
import { sweep } from "../../api";
import { Button, choices, Select } from "../../components/controls";
import { Failed } from "../../components/states";
import { Thumbnails, type Thumb } from "../../components/Thumbnails";
import { embedded } from "../../embedded";
import { problemOf, type ApiError } from "../../errors";
import { t } from "../../i18n";
import { editOf, maskAt, silenced, type Op } from "../../lib/interventions";
import { extent } from "../../lib/matrix";
import { range } from "../../lib/range";
import type { Tensor } from "../../lib/safetensors";
import { ops, params, setOps, setParams, traceRequest } from "../../state";
import { atlasWeights, hasRollout, headOrder, keyOf, matricesOf, nameOf, VIRTUAL, type Choice, type Pick } from "./view";

const SORTS = ["layer", "entropy", "distance", "diagonal", "previous", "special", "max"] as const;

const NONE: readonly Op[] = [];

type Sweep = SweepOut["kinds"];

/** Values of the sweep as they arrive; null while it is not asked for. */
function useSweep(on: boolean, manifest: Manifest): { values: Sweep | null; error: ApiError | null; retry(): void } {
  const [values, setValues] = useState<Sweep | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    setValues(null);
    setError(null);
    if (!on) return;
    const control = new AbortController();
    const rows: Record<string, (readonly number[])[]> = {};
    sweep(
      { ...traceRequest.value },
      {
        signal: control.signal,
        row: (row) => {
          rows[row.kind] ??= [];
          rows[row.kind][row.layer] = row.values;
          setValues({ ...rows });
        },
      },
    ).then(
      (final) => setValues(final.kinds),
      (problem: unknown) => !control.signal.aborted && setError(problemOf(problem)),
    );
    return () => control.abort();
  }, [on, manifest.id, turn]);
  return { values, error, retry: () => setTurn((n) => n + 1) };
}

interface HeadsProps {
  choice: Choice;
  manifest: Manifest;
  atlas: Tensor;
  rtl: boolean;
  marker: { row: number; col: number } | null;
  select(pick: Pick, add: boolean): void;
}

export function Heads({ choice, manifest, atlas, marker, rtl, select }: HeadsProps) {
  const { kind, size } = choice;
  const sort = SORTS.find((name) => name === params.value.o) ?? "layer";
  const swept = params.value.c === "sweep" && !embedded;
  const { values, error, retry } = useSweep(swept, manifest);
  const fingerprint = manifest.attention[kind]?.fingerprint;
  const virtual = size.heads > 1 ? VIRTUAL.filter((name) => name !== "rollout" || hasRollout(kind, size)) : [];
  const edits = params.value.pin === "base" ? NONE : ops.value;
  const { thumbs, picks } = useMemo(() => {
    const matrixOf = matricesOf(size, atlasWeights(atlas));
    const thumbs: Thumb[] = [];
    const picks = new Map<string, Pick>();
    const add = (pick: Pick, col: number, extra: Partial<Thumb>) => {
      picks.set(keyOf(pick), pick);
      thumbs.push({ key: keyOf(pick), row: pick.layer, col, name: nameOf(pick, size), matrix: matrixOf(pick), ...extra });
    };
    for (let layer = 0; layer < size.layers; layer++) {
      headOrder(fingerprint, sort, layer, size.heads).forEach((head, col) => {
        const pattern = fingerprint?.label[layer]?.[head];
        const edit = editOf(edits, kind, layer, head);
        const name = [
          nameOf({ layer, head }, size),
          ...(pattern ? [t(`attention.label_${pattern}`)] : []),
          ...(edit ? [t(`attention.edit_${edit}`)] : []),
        ].join(", ");
        add({ layer, head }, col, {
          name,
          value: swept ? (values?.[kind]?.[layer]?.[head] ?? 0) : undefined,
          badge: sort === "layer" ? undefined : String(head + 1),
          edit,
          silences: !embedded,
        });
      });
      virtual.forEach((head, i) => add({ layer, head }, size.heads + i, {}));
    }
    return { thumbs, picks };
  }, [atlas, kind, sort, fingerprint, swept, values, edits]);
  const one =
    choice.picks.length === 1 && typeof choice.picks[0].head === "number" ? { ...choice.picks[0], head: choice.picks[0].head } : null;
  const silence = (layer: number, head: number) => setOps(silenced(ops.value, kind, layer, head));
  const all = Object.values(values ?? {}).flat(2);
  const most = all.length > 0 ? Math.max(0.01, ...extent(all).map(Math.abs)) : 1;
  return (
    <section class="card stack attention-heads">
      <div class="row between">
        <h2>{t("attention.heads")}</h2>
      </div>
      <Thumbnails
        name={t("attention.heads")}
        thumbs={thumbs}
        rows={range(size.layers).map((i) => t("attention.layer", { n: i + 1 }))}
        cols={[
          ...range(size.heads).map((i) => (sort === "layer" ? String(i + 1) : "")),
          ...virtual.map((name) => t(`attention.virtual_${name}`)),
        ]}
        apart={size.heads}
        rtl={rtl}
        selected={choice.picks.map(keyOf)}
        scale={{ sqrt: true }}
        valueScale={{ signed: true, max: most }}
        marker={marker}
        onSelect={(key, add) => select(picks.get(key)!, add)}
        onSilence={
          embedded
            ? undefined
            : (key) => {
                const { layer, head } = picks.get(key)!;
                if (typeof head === "number") silence(layer, head);
              }
        }
      />
      {one && !embedded && (
        <Button onClick={() => silence(one.layer, one.head)}>
          {maskAt(ops.value, kind, one.layer, one.head) >= 0 ? t("attention.bring_back") : t("attention.silence_one")}
        </Button>
      )}
      {error && <Failed error={error} retry={retry} />}
      {size.heads > 1 && (
        <div class="row">
          <Select
            label={t("attention.sort")}
            value={sort}
            choices={choices(SORTS, (value) => t(`attention.sort_${value}`))}
            onChange={(value) => setParams({ o: value === "layer" ? null : value }, { push: true })}
          />
          {!embedded && (
            <Select
              label={t("attention.colour")}
              value={swept ? "sweep" : "weights"}
              choices={[
                { value: "weights", label: t("attention.colour_weights") },
                { value: "sweep", label: t("attention.colour_sweep") },
              ]}
              onChange={(value) => setParams({ c: value === "sweep" ? "sweep" : null }, { push: true })}
            />
          )}
        </div>
      )}
      <p class={swept ? "note" : "note by-mouse"}>{swept ? t("attention.sweep_note") : t("attention.heads_note")}</p>
    </section>
  );
}
