/** Which heads does this sentence need? Every head silenced alone, coloured by what the answer loses. */
import { KINDS } from "../../lib/kinds";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Card, Kind, SweepOut } from "../../api-types";
import { sweep } from "../../api";
import { ApiError } from "../../errors";
import { t } from "../../i18n";
import { signed } from "../../lib/format";
import { editOf, silenced } from "../../lib/interventions";
import { extent, matrix } from "../../lib/matrix";
import { model, ops, options, sentence, setOps } from "../../state";
import type { Cell } from "../Heatmap";
import { HeatmapFigure } from "../HeatmapFigure";
import { problemText } from "../states";
import { Button } from "../controls";

type Values = SweepOut["kinds"];
type Progress = {
  readonly key: string;
  readonly values: Values;
  readonly status: "running" | "done" | "stopped";
  readonly error: ApiError | null;
};

export function Sweep({ card }: { card: Card }) {
  const body = { model: model.value?.name, text: sentence.value, ...options.value };
  const key = JSON.stringify(body);
  const [state, setState] = useState<Progress | null>(null);
  const control = useRef<AbortController | null>(null);
  useEffect(() => () => control.current?.abort(), [key]);
  const kinds = KINDS.filter((kind) => card.kinds[kind]);
  if (kinds.reduce((sum, kind) => sum + card.kinds[kind]!.layers * card.kinds[kind]!.heads, 0) < 2) return null;
  const now = state?.key === key ? state : null;

  const start = () => {
    const abort = new AbortController();
    control.current = abort;
    const values: Record<string, (readonly number[])[]> = {};
    const put = (status: Progress["status"], error: ApiError | null = null) =>
      control.current === abort && setState({ key, values: { ...values }, status, error });
    put("running");
    sweep(body, {
      signal: abort.signal,
      row: (row) => {
        values[row.kind] ??= [];
        values[row.kind][row.layer] = row.values;
        put("running");
      },
    }).then(
      () => put("done"),
      (error: unknown) =>
        put("stopped", abort.signal.aborted ? null : error instanceof ApiError ? error : new ApiError(0, "internal", String(error))),
    );
  };
  const total = kinds.reduce((sum, kind) => sum + card.kinds[kind]!.layers, 0);
  const done = kinds.reduce((sum, kind) => sum + (now?.values[kind]?.filter(Boolean).length ?? 0), 0);
  return (
    <section class="stack whatif-sweep">
      {now?.status !== "running" && <Button onClick={start}>{now ? t("whatif.sweep_again") : t("whatif.sweep")}</Button>}
      {now?.status === "running" && (
        <div class="row">
          <progress class="grow" max={total} value={done} aria-label={t("whatif.sweep")} />
          <Button kind="quiet" onClick={() => control.current?.abort()}>
            {t("whatif.cancel")}
          </Button>
        </div>
      )}
      {now?.error && (
        <p class="note whatif-bad" role="alert">
          {problemText(now.error)} {now.error.detail}
        </p>
      )}
      {now && done > 0 && <Grid card={card} kinds={kinds} values={now.values} />}
    </section>
  );
}

function Grid({ card, kinds, values }: { card: Card; kinds: readonly Kind[]; values: Values }) {
  const [active, setActive] = useState<Cell | null>(null);
  const places = kinds.flatMap((kind) => Array.from({ length: card.kinds[kind]!.layers }, (_, layer) => ({ kind, layer })));
  const heads = Math.max(...kinds.map((kind) => card.kinds[kind]!.heads));
  const m = matrix(places.length, heads);
  const known = new Uint8Array(m.data.length);
  places.forEach(({ kind, layer }, r) =>
    (values[kind]?.[layer] ?? []).forEach((value, head) => {
      m.data[r * heads + head] = value;
      known[r * heads + head] = 1;
    }),
  );
  const most = Math.max(0.01, ...extent(m.data).map(Math.abs));
  const toggle = (cell: Cell) => {
    const { kind, layer } = places[cell.row];
    if (!known[cell.row * heads + cell.col]) return;
    setOps(silenced(ops.value, kind, layer, cell.col));
  };
  const masked = places.flatMap(({ kind, layer }, row) =>
    Array.from({ length: heads }, (_, col) => ({ row, col, on: editOf(ops.value, kind, layer, col) === "silenced" })).filter(
      (cell) => cell.on,
    ),
  );
  return (
    <HeatmapFigure
      bare
      title={t("whatif.sweep_title")}
      file="sweep"
      matrix={m}
      mask={known}
      scale={{ signed: true, max: most }}
      maxCell={44}
      format={(value) => (Math.abs(value) < 0.05 ? "" : signed(value, 1))}
      rows={places.map(({ kind, layer }) => ({ text: `${t(`attention.kind_${kind}`)} ${layer + 1}` }))}
      cols={Array.from({ length: heads }, (_, i) => String(i + 1))}
      active={active}
      onActive={setActive}
      crossed={masked}
      locked={masked[masked.length - 1] ?? null}
      onLock={(cell) => (cell ? toggle(cell) : active && toggle(active))}
      describe={(cell) =>
        t("whatif.sweep_cell", {
          place: `${t(`attention.kind_${places[cell.row].kind}`)} ${places[cell.row].layer + 1}`,
          head: cell.col + 1,
          value: signed(m.data[cell.row * heads + cell.col], 2),
        }) + (masked.some((one) => one.row === cell.row && one.col === cell.col) ? `, ${t("attention.edit_silenced")}` : "")
      }
      caption={t("whatif.sweep_note")}
    />
  );
}
