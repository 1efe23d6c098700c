/** How the model knows where a token stands: the table of positions, its waves, and how alike positions are. */
import type { Op } from "../../lib/interventions";
import { useMemo, useState } from "preact/hooks";
import type { Card } from "../../api-types";
import { getPositions } from "../../api";
import { Button, choices, Segmented } from "../../components/controls";
import { Link } from "../../components/Link";
import { HeatmapFigure } from "../../components/HeatmapFigure";
import { LineFigure } from "../../components/LineChart";
import { Await } from "../../components/states";
import { embedded } from "../../embedded";
import { useResource } from "../../hooks";
import { t } from "../../i18n";
import { fixed, number } from "../../lib/format";
import { fromRows, product, transpose, type Matrix } from "../../lib/matrix";
import { defaultDimensions, readDimensions, toggled, wavelength } from "../../lib/positions";
import { range } from "../../lib/range";
import { addOp, href, params, setParams, whatIfOpen } from "../../state";
import { SinusoidFormula } from "./formulas";
import { reach } from "./head";

const POSITIONS = 64;

export function PositionsTab({ card }: { card: Card }) {
  if (card.arch !== "transformer") return <Recurrent />;
  return <Table card={card} />;
}

function Recurrent() {
  return (
    <div class="card stack inside-words">
      <h2>{t("inside.positions_rnn_title")}</h2>
      <p>{t("inside.positions_rnn")}</p>
      <p>
        <Link href={href("inside", { tab: "recurrence" })}>{t("inside.to_recurrence")}</Link>
      </p>
    </div>
  );
}

function Table({ card }: { card: Card }) {
  const found = useResource(
    `positions ${card.fingerprint} ${card.name} ${POSITIONS}`,
    (signal) => getPositions(card.name, POSITIONS, signal),
    { cache: true },
  );
  return (
    <Await of={found} height={420}>
      {({ positions, rows }) => (
        <div class="stack inside-positions">
          <div class="card stack inside-words">
            <h2>{t(`inside.positions_${positions ?? "none"}_title`)}</h2>
            <p>{t(`inside.positions_${positions ?? "none"}`)}</p>
            {positions === "sinusoidal" && <SinusoidFormula />}
            {!embedded && <Disturb none={positions === "none"} />}
          </div>
          {rows && rows.length > 0 && <Pictures rows={rows} sinusoidal={positions === "sinusoidal"} />}
        </div>
      )}
    </Await>
  );
}

/** Remove, shuffle, shift: what becomes of the translation. */
function Disturb({ none }: { none: boolean }) {
  const [side, setSide] = useState<"source" | "target">("source");
  const [by, setBy] = useState(3);
  const run = (op: Partial<Op>) => {
    addOp({ op: "positions", side, ...op });
    whatIfOpen.value = true;
  };
  if (none) return null;
  return (
    <div class="row wide">
      <span class="small muted">{t("inside.disturb")}</span>
      <Segmented
        label={t("inside.side")}
        value={side}
        onChange={(value) => setSide(value)}
        choices={choices(["source", "target"], (value) => t(`inside.side_${value}`))}
      />
      <Button onClick={() => run({ mode: "none" })}>{t("inside.remove")}</Button>
      <Button onClick={() => run({ mode: "shuffle", seed: 0 })}>{t("inside.shuffle")}</Button>
      <span class="row">
        <Button disabled={!Number.isInteger(by) || by === 0} onClick={() => run({ mode: "shift", by })}>
          {t("inside.shift", { n: Number.isInteger(by) ? by : 0 })}
        </Button>
        <input
          class="input inside-by"
          type="number"
          min={-64}
          max={64}
          value={by}
          aria-label={t("inside.shift_by")}
          onInput={(event) => setBy(event.currentTarget.valueAsNumber)}
        />
      </span>
    </div>
  );
}

function Pictures({ rows, sinusoidal }: { rows: readonly (readonly number[])[]; sinusoidal: boolean }) {
  const table = useMemo(() => fromRows(rows), [rows]);
  const alike = useMemo(() => product(table, transpose(table)), [table]);
  const places = useMemo(() => rows.map((_, p) => String(p)), [rows]);
  const dims = readDimensions(params.value.dims, table.cols) ?? defaultDimensions(table.cols);
  const names = useMemo(() => range(table.cols).map((n) => String(n + 1)), [table]);
  const most = reach(table);
  const toggle = (n: number) =>
    setParams({
      dims: toggled(dims, n)
        .map((d) => d + 1)
        .join(","),
    });
  return (
    <>
      <div class="inside-two">
        <HeatmapFigure
          title={t("inside.table")}
          file="positions"
          matrix={table}
          rows={places}
          cols={names}
          scale={{ signed: true, max: most }}
          format={(value) => fixed(value, 1)}
          free
          maxCell={18}
          maxHeight={400}
          caption={t("inside.table_note")}
          locked={null}
          onLock={(cell) => cell && toggle(cell.col)}
          describe={({ row, col }) => t("inside.table_cell", { p: row, n: col + 1, value: fixed(table.data[row * table.cols + col], 3) })}
        />
        <HeatmapFigure
          title={t("inside.alike")}
          file="position-similarity"
          matrix={alike}
          rows={places}
          cols={places}
          scale={{ signed: true, max: reach(alike) }}
          format={(value) => fixed(value, 0)}
          maxCell={18}
          maxHeight={400}
          caption={t(sinusoidal ? "inside.alike_note" : "inside.alike_note_learned")}
        />
      </div>
      <Waves table={table} dims={dims} toggle={toggle} sinusoidal={sinusoidal} />
    </>
  );
}

interface WavesProps {
  table: Matrix;
  dims: readonly number[];
  toggle(n: number): void;
  sinusoidal: boolean;
}

function Waves({ table, dims, toggle, sinusoidal }: WavesProps) {
  const lines = useMemo(
    () =>
      dims.map((n, place) => ({
        id: String(n),
        label: t("inside.dimension", { n: n + 1 }),
        colour: (place % 6) + 1,
        x: range(table.rows),
        y: range(table.rows).map((p) => table.data[p * table.cols + n]),
      })),
    [table, dims.join()],
  );
  return (
    <LineFigure
      title={t("inside.waves")}
      file="position-waves"
      lines={lines}
      xLabel={t("inside.position")}
      height={180}
      level={0}
      formatY={(y) => fixed(y, 3)}
      tools={
        <span class="row">
          {dims.map((n) => (
            <button
              key={n}
              type="button"
              class="chip on"
              disabled={dims.length === 1}
              title={t("inside.take_off", { n: n + 1 })}
              onClick={() => toggle(n)}
            >
              {t("inside.dimension", { n: n + 1 })}
            </button>
          ))}
        </span>
      }
      caption={
        <>
          {t("inside.waves_note")}
          {sinusoidal &&
            ` ${dims.map((n) => t("inside.wavelength", { n: n + 1, length: number(Number(wavelength(n, table.cols).toPrecision(3))) })).join(" · ")}`}
        </>
      }
    />
  );
}
