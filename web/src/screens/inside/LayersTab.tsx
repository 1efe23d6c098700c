/** Every tensor of the pass in order: a list by stage, the chosen one as a matrix, and how one of its numbers was made. */
import { useEffect, useRef } from "preact/hooks";
import type { Manifest } from "../../api-types";
import { IconButton, Select } from "../../components/controls";
import type { Cell } from "../../components/Heatmap";
import { HeatmapFigure } from "../../components/HeatmapFigure";
import { Await, Empty, Warnings } from "../../components/states";
import { Lines } from "../../components/Sums";
import { embedded } from "../../embedded";
import { useForward, useTensors } from "../../hooks";
import { t } from "../../i18n";
import { local } from "../../local/site";
import { useKeys } from "../../keys";
import { fixed, number } from "../../lib/format";
import { axesOf, bytesOf, gridOf, groupsOf, headsOf, labelsFor, lettersOf, needOf, sizesOf } from "../../lib/forward";
import type { Pass } from "../../lib/forward";
import { labelOf } from "../../lib/heatmap";
import type { Matrix } from "../../lib/matrix";
import { range } from "../../lib/range";
import { params, setParams } from "../../state";
import { reach } from "./head";
import { mostBytes, useMade } from "./made";
import { partName, stageName, tensorName } from "./names";

export function LayersTab({ manifest }: { manifest: Manifest }) {
  const pass = useForward(embedded || local ? null : manifest.id);
  if (embedded) return <Empty title={t("layers.in_file")} />;
  if (local) return <Empty title={t("layers.in_tab")} />;
  if (pass.error?.code === "bad_parameter" && manifest.interventions.length > 0) return <Empty title={t("layers.edited")} />;
  return (
    <div class="stack inside-layers">
      <Warnings of={manifest} />
      <Await of={pass} height={480}>
        {(found) => <Layers pass={found} />}
      </Await>
    </div>
  );
}

function Layers({ pass }: { pass: Pass }) {
  const asked = Number(params.value.n ?? NaN);
  const first = pass.tensors.findIndex((one) => one.how !== "given" && one.how !== "lookup");
  const place = Number.isInteger(asked) && asked >= 0 && asked < pass.tensors.length ? asked : Math.max(0, first);
  const show = (n: number) => setParams({ n: Math.max(0, Math.min(pass.tensors.length - 1, n)), j: null }, { push: true });
  const list = useRef<HTMLElement>(null);
  useEffect(() => {
    const at = list.current?.querySelector("[aria-current]");
    if (!list.current || !at) return;
    const [box, here] = [list.current.getBoundingClientRect(), at.getBoundingClientRect()];
    if (here.top < box.top || here.bottom > box.bottom) list.current.scrollTop += here.top - box.top - box.height / 2;
  }, [place]);
  useKeys({ ",": () => show(place - 1), ".": () => show(place + 1) });
  return (
    <>
      <p class="small muted layers-sizes">
        {Object.entries(pass.sizes).map(([letter, size]) => (
          <span key={letter}>
            <b>{letter}</b> = {number(size)}
          </span>
        ))}
      </p>
      <div class="layers-body">
        <nav ref={list} class="card layers-list" aria-label={t("layers.tensors")}>
          {groupsOf(pass).map(({ stage, places }) => (
            <Group key={`${stage} ${places[0]}`} pass={pass} stage={stage} places={places} at={place} show={show} />
          ))}
        </nav>
        <OneTensor key={pass.id} pass={pass} place={place} show={show} />
      </div>
    </>
  );
}

interface GroupProps {
  pass: Pass;
  stage: string;
  places: readonly number[];
  at: number;
  show(place: number): void;
}

function Group({ pass, stage, places, at, show }: GroupProps) {
  const here = places.includes(at);
  const node = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    if (here && node.current) node.current.open = true;
  }, [here]);
  let part = "";
  return (
    <details ref={node} open={here}>
      <summary>
        {stageName(stage, pass)}&nbsp;<span class="badge">{places.length}</span>
      </summary>
      <ol>
        {places.map((place) => {
          const one = pass.tensors[place];
          const now = partName(one.operation);
          const head = now !== part && now;
          part = now;
          return (
            <li key={place}>
              {head && <h3 class="small muted">{head}</h3>}
              <button
                type="button"
                class={one.detail ? "detail" : undefined}
                aria-current={place === at ? "true" : undefined}
                title={one.shape.join(" × ")}
                onClick={() => show(place)}
              >
                <span>{tensorName(one.operation)}</span>
                <span class="num">{one.axes}</span>
              </button>
            </li>
          );
        })}
      </ol>
    </details>
  );
}

function OneTensor({ pass, place, show }: { pass: Pass; place: number; show(place: number): void }) {
  const one = pass.tensors[place];
  const heads = headsOf(one);
  const within = (text: string | undefined, count: number, from: number) => {
    const n = Number(text ?? NaN) - from;
    return Number.isInteger(n) && n >= 0 && n < count ? n : 0;
  };
  const head = within(params.value.h, Math.max(1, heads), 1);
  const most = mostBytes();
  const rows = sizesOf(one)[0] ?? 1;
  const byRow = heads === 0 && bytesOf(one) > most; // then one row at a time
  const rowAt = within(params.value.q, rows, 0);
  const need = needOf(place, heads > 0 ? head : byRow ? rowAt : null);
  const tensors = useTensors(pass.id, [need]);
  const found = tensors.value?.get(need);
  return (
    <section class="card stack layers-one" aria-label={tensorName(one.operation)}>
      <div class="row between">
        <p class="small muted">
          {stageName(one.stage, pass)}
          {partName(one.operation) && ` · ${partName(one.operation)}`} · {t("layers.of", { n: place + 1, all: pass.tensors.length })}
        </p>
        <div class="row inside-play">
          <IconButton icon="prev" label={t("layers.before_this")} shortcut="," disabled={place === 0} onClick={() => show(place - 1)} />
          <IconButton
            icon="next"
            label={t("layers.after_this")}
            shortcut="."
            disabled={place === pass.tensors.length - 1}
            onClick={() => show(place + 1)}
          />
        </div>
      </div>
      <p class="note">{t(`layers.how_${one.how}`)}</p>
      {(heads > 1 || byRow) && (
        <div class="row">
          {heads > 1 && (
            <Select
              label={t("layers.head")}
              value={String(head + 1)}
              choices={range(heads, 1).map((n) => ({ value: String(n), label: String(n) }))}
              onChange={(h) => setParams({ h }, { push: true })}
            />
          )}
          {byRow && <Rows pass={pass} letter={axesOf(one)[0]} rows={rows} at={rowAt} />}
        </div>
      )}
      <Await of={tensors} height={320}>
        {() => (found ? <Grid key={need} {...{ pass, place, head, show, byRow, rowAt }} grid={gridOf(found)} /> : null)}
      </Await>
    </section>
  );
}

function Rows({ pass, letter, rows, at }: { pass: Pass; letter: string; rows: number; at: number }) {
  const names = labelsFor(pass, letter, rows).map(labelOf);
  return (
    <>
      <Select
        label={t("layers.row")}
        value={String(at)}
        choices={range(Math.min(rows, 512)).map((n) => ({ value: String(n), label: `${n + 1} ${names[n].text}` }))}
        onChange={(q) => setParams({ q }, { push: true })}
      />
      <span class="small muted">{t("layers.one_row")}</span>
    </>
  );
}

interface GridProps {
  pass: Pass;
  place: number;
  head: number;
  grid: Matrix;
  byRow: boolean;
  rowAt: number;
  show(place: number): void;
}

function Grid({ pass, place, head, grid, byRow, rowAt, show }: GridProps) {
  const one = pass.tensors[place];
  const [down, across] = lettersOf(one);
  const keys = one.axes.includes("H") || one.operation.endsWith("mask") || one.operation === "ids, shifted right";
  const rows = labelsFor(pass, down, byRow ? 1 : grid.rows, ["K", "V"].includes(tensorName(one.operation)));
  const cols = labelsFor(pass, across, grid.cols, keys);
  const at = (text: string | undefined, count: number) => {
    const n = Number(text ?? NaN);
    return Number.isInteger(n) && n >= 0 && n < count ? n : 0;
  };
  const cell: Cell = { row: byRow ? 0 : at(params.value.q, grid.rows), col: at(params.value.j, grid.cols) };
  const value = grid.data[cell.row * grid.cols + cell.col];
  const positive = one.how === "softmax" || one.operation.endsWith("mask");
  const max = reach(grid);
  const title = `${tensorName(one.operation)} ${one.axes}`;
  return (
    <div class={grid.cols > 24 ? "layers-matrix wide" : "layers-matrix"}>
      {grid.data.length > 1 ? (
        <HeatmapFigure
          bare
          title={title}
          file={`tensor-${place}`}
          matrix={grid}
          rows={rows}
          cols={cols}
          scale={positive ? { sqrt: true } : { signed: true, max }}
          format={positive ? undefined : (x) => fixed(x, max < 1 ? 2 : max < 100 ? 1 : 0)}
          maxCell={38}
          maxHeight={420}
          free={grid.cols > 2 * grid.rows || grid.rows > 2 * grid.cols}
          locked={cell}
          onLock={(to) => to && setParams({ ...(byRow ? {} : { q: to.row }), j: to.col }, { push: true })}
          tools={<span class="badge">{one.shape.join(" × ")}</span>}
        />
      ) : (
        <p>
          <b class="layers-number">{number(value)}</b> <span class="muted">{t("layers.one_number")}</span>
        </p>
      )}
      <Made {...{ pass, place, value, show }} at={{ head, row: byRow ? rowAt : cell.row, col: cell.col }} cols={cols} />
    </div>
  );
}

interface MadeProps {
  pass: Pass;
  place: number;
  at: { head: number; row: number; col: number };
  value: number;
  cols: ReturnType<typeof labelsFor>;
  show(place: number): void;
}

/** What the tensor was made of, and the arithmetic of the chosen cell. */
function Made({ pass, place, at, value, cols, show }: MadeProps) {
  const one = pass.tensors[place];
  const { light, tensors, lines } = useMade(pass, place, at);
  if (one.inputs.length === 0) return null;
  return (
    <aside class="stack inside-sum" aria-label={t("layers.cell")}>
      <p class="small">
        <span class="muted">{t("layers.made_of")}</span>{" "}
        {[...new Set(one.inputs)].map((input) => (
          <button key={input} type="button" class="chip" onClick={() => show(input)}>
            {tensorName(pass.tensors[input].operation)}
          </button>
        ))}
      </p>
      {!light && <p class="small muted">{t("layers.too_large")}</p>}
      {light && one.how !== "opaque" && (
        <Await of={tensors} height={120}>
          {() => (
            <>
              <p class="small muted">{t("layers.pick")}</p>
              <Lines of={lines(value) ?? []} names={cols} />
            </>
          )}
        </Await>
      )}
    </aside>
  );
}
