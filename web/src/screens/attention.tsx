/** The Attention screen: every head of every kind, one of them large, one row of it in words. */
import { KINDS } from "../lib/kinds";
import { useMemo, useState } from "preact/hooks";
import type { Manifest } from "../api-types";
import { getInfluence } from "../api";
import { Badge, choices, kindChoices, Segmented, Select, Switch, Tabs } from "../components/controls";
import { Link } from "../components/Link";
import { Figure } from "../components/Figure";
import { Heatmap, type Cell } from "../components/Heatmap";
import { HeatmapFigure, heatmapSvg, MatrixTable, matrixTable } from "../components/HeatmapFigure";
import { NoText } from "../components/NoText";
import { Scrubber } from "../components/Scrubber";
import { Await, Loading, Warnings } from "../components/states";
import { traceExports } from "../components/traceExports";
import { embedded } from "../embedded";
import { usePrefetch, useResource, useTensors, useTrace, type Resource } from "../hooks";
import { t } from "../i18n";
import { withEdit } from "../components/whatif/words";
import { editOf } from "../lib/interventions";
import { fixed, signed } from "../lib/format";
import { extent, fromRows, largest, rank, row } from "../lib/matrix";
import type { Tensor } from "../lib/safetensors";
import { href, model, params, setParams } from "../state";
import { Flow } from "./attention_parts/Flow";
import { Heads } from "./attention_parts/Heads";
import { RowPanel } from "./attention_parts/RowPanel";
import { atlasWeights, choiceOf, exactWeights, hasRollout, keyOf, needsOf, pictureOf, titleOf } from "./attention_parts/view";
import type { Choice, Pick, Picture } from "./attention_parts/view";
import "../styles/attention.css";

export function Attention() {
  const trace = useTrace();
  return (
    <div class="screen attention">
      <header class="screen-head">
        <h1>{t("attention.title")}</h1>
        {Object.keys(model.value?.kinds ?? {}).length > 0 && (
          <p class="small">
            {t("attention.caution")} <Link href={href("translate", { r: "influence" })}>{t("attention.see_influence")}</Link>
          </p>
        )}
      </header>
      <Await of={trace} height={420} empty={<NoText />}>
        {(manifest) => {
          const choice = choiceOf(params.value, manifest);
          return choice ? <Explorer manifest={manifest} choice={choice} /> : <WithoutAttention manifest={manifest} />;
        }}
      </Await>
    </div>
  );
}

function Explorer({ manifest, choice }: { manifest: Manifest; choice: Choice }) {
  const atlas = useTensors(manifest.id, [`${choice.kind}.atlas`]);
  const needs = needsOf(choice);
  const exact = useTensors(manifest.id, needs);
  const picture = usePicture(choice, manifest, atlas, exact, needs);
  usePrefetch(
    exact.status === "ready" && !embedded ? manifest.id : null,
    KINDS.filter((kind) => kind !== choice.kind && manifest.model.kinds[kind]).map((kind) => `${kind}.atlas`),
  );
  const [active, setActive] = useState<Cell | null>(null);
  const locked = picture && lockedCell(picture);
  const shown = inside(active, picture) ?? locked;
  const lock = (cell: Cell | null) =>
    setParams(
      cell && picture ? { q: picture.rowUnits[cell.row].tokens[0], j: picture.colUnits[cell.col].tokens[0] } : { q: null, j: null },
      { push: cell !== null },
    );
  const select = (pick: Pick, add: boolean) => {
    const one = { l: pick.layer + 1, h: typeof pick.head === "number" ? pick.head + 1 : pick.head, sel: null };
    if (!add) return setParams(one, { push: true });
    const keys = choice.picks.map(keyOf);
    const next = keys.includes(keyOf(pick)) ? keys.filter((key) => key !== keyOf(pick)) : [...keys, keyOf(pick)];
    return setParams(next.length > 1 ? { sel: next.join(",") } : one, { push: true });
  };
  const tensor = atlas.value?.get(`${choice.kind}.atlas`);
  return (
    <div class="stack attention-stack">
      <Tabs
        label={t("attention.kind")}
        value={choice.kind}
        onChange={(k) => setParams({ k, l: null, h: null, sel: null, q: null, j: null }, { push: true })}
        choices={kindChoices(manifest.model.kinds)}
      />
      <Controls choice={choice} manifest={manifest} />
      <Warnings of={manifest} />
      {choice.kind !== "enc_self" && <Scrubber manifest={manifest} onStep={(q) => setParams({ q, j: null })} />}
      <div
        class={choice.size.layers * choice.size.heads > 1 ? "attention-body" : "attention-body single"}
        role="tabpanel"
        aria-label={t(`attention.kind_${choice.kind}`)}
      >
        {choice.size.layers * choice.size.heads > 1 &&
          (tensor ? (
            <Heads
              choice={choice}
              manifest={manifest}
              atlas={tensor}
              marker={shown && picture && { row: picture.rowUnits[shown.row].tokens[0], col: picture.colUnits[shown.col].tokens[0] }}
              rtl={picture?.rtl ?? false}
              select={select}
            />
          ) : (
            <Await of={atlas} height={260}>
              {() => null}
            </Await>
          ))}
        {picture ? (
          <Large
            choice={choice}
            manifest={manifest}
            picture={picture}
            active={inside(active, picture)}
            locked={locked}
            onActive={setActive}
            onLock={lock}
            select={select}
          />
        ) : (
          <Await of={exact} height={320}>
            {() => <Loading height={320} />}
          </Await>
        )}
        {picture && <RowPanel choice={choice} manifest={manifest} picture={picture} cell={shown} />}
      </div>
    </div>
  );
}

/** The picture from exact weights, or from the atlas of 8 bits until those have come. */
function usePicture(
  choice: Choice,
  manifest: Manifest,
  atlas: Resource<Map<string, Tensor>>,
  exact: Resource<Map<string, Tensor>>,
  needs: readonly string[],
): Picture | null {
  const tensors = exact.value && needs.every((need) => exact.value!.has(need)) && exact.status === "ready" ? exact.value : null;
  const small = atlas.value?.get(`${choice.kind}.atlas`) ?? null;
  return useMemo(() => {
    const info = manifest.attention[choice.kind]!;
    const fits = small && small.shape[2] === manifest[info.q].tokens.length && small.shape[3] === manifest[info.k].tokens.length;
    const weights = tensors ? exactWeights(choice.kind, tensors) : fits ? atlasWeights(small) : null;
    return weights && pictureOf(choice, manifest, weights);
  }, [manifest.id, JSON.stringify(choice), tensors, small]);
}

const inside = (cell: Cell | null, picture: Picture | null) =>
  cell && picture && cell.row < picture.matrix.rows && cell.col < picture.matrix.cols ? cell : null;

/** The cell of the address: `q` and `j` are tokens, whatever the units on show. With a `q` alone it is the strongest of its row. */
function lockedCell({ matrix, rowUnits, colUnits }: Picture): Cell | null {
  const [q, j] = [Number(params.value.q ?? NaN), Number(params.value.j ?? NaN)];
  const r = rowUnits.findIndex((unit) => unit.tokens.includes(q));
  const strongest = params.value.j === undefined && r >= 0 ? largest(row(matrix, r), 1)[0] : -1;
  const c = params.value.j === undefined ? strongest : colUnits.findIndex((unit) => unit.tokens.includes(j));
  return r >= 0 && c >= 0 ? { row: r, col: c } : null;
}

function Controls({ choice, manifest }: { choice: Choice; manifest: Manifest }) {
  const rtl = manifest.source.dir === "rtl" || manifest.target.dir === "rtl";
  return (
    <div class="row wide attention-controls">
      <Segmented
        label={t("attention.view")}
        value={choice.view}
        choices={choices(["matrix", "flow", "table"], (value) => t(`attention.view_${value}`))}
        onChange={(v) => setParams({ v: v === "matrix" ? null : v }, { push: true })}
      />
      <Segmented
        label={t("attention.unit")}
        value={choice.words ? "words" : "pieces"}
        choices={[
          { value: "pieces", label: t("attention.tokens") },
          { value: "words", label: t("attention.words") },
        ]}
        onChange={(u) => setParams({ u: u === "words" ? "words" : null }, { push: true })}
      />
      <Select
        label={t("attention.specials")}
        value={choice.specials}
        choices={choices(["show", "dim", "fold"], (value) => t(`attention.specials_${value}`))}
        onChange={(sp) => setParams({ sp: sp === "dim" ? null : sp, rn: null }, { push: true })}
      />
      {choice.specials === "fold" && (
        <Switch
          label={t("attention.renormalise")}
          on={choice.renormalise}
          onChange={(on) => setParams({ rn: on ? 1 : null }, { push: true })}
        />
      )}
      <Switch label={t("attention.sqrt")} on={choice.sqrt} onChange={(on) => setParams({ sq: on ? null : 0 }, { push: true })} />
      {choice.picks.length > 1 && (
        <Select
          label={t("attention.combine")}
          value={choice.how}
          choices={choices(["mean", "max"], (value) => t(`attention.virtual_${value}`))}
          onChange={(how) => setParams({ how: how === "max" ? how : null }, { push: true })}
        />
      )}
      {rtl && (
        <Switch label={t("attention.logical")} on={choice.logical} onChange={(on) => setParams({ lo: on ? 1 : null }, { push: true })} />
      )}
    </div>
  );
}

interface LargeProps {
  choice: Choice;
  manifest: Manifest;
  picture: Picture;
  active: Cell | null;
  locked: Cell | null;
  onActive(cell: Cell | null): void;
  onLock(cell: Cell | null): void;
  select(pick: Pick, add: boolean): void;
}

function Large({ choice, manifest, picture, active, locked, onActive, onLock, select }: LargeProps) {
  const { matrix: m, rows, cols, folded, copied } = picture;
  const alone = choice.picks.length === 1 ? choice.picks[0] : null;
  const edit = alone && typeof alone.head === "number" ? editOf(manifest.interventions, choice.kind, alone.layer, alone.head) : null;
  const name = withEdit(titleOf(choice), edit);
  const title = name.charAt(0).toUpperCase() + name.slice(1);
  const [pick] = choice.picks;
  const { layers, heads } = choice.size;
  const step = (layerBy: number, headBy: number) => {
    const head = typeof pick.head === "number" ? pick.head : 0;
    select(
      {
        layer: (pick.layer + layerBy + layers) % layers,
        head: headBy || typeof pick.head === "number" ? (head + headBy + heads) % heads : pick.head,
      },
      false,
    );
  };
  const describe = (cell: Cell) =>
    t("attention.cell", {
      row: rows[cell.row].text,
      col: cols[cell.col].text,
      value: fixed(m.data[cell.row * m.cols + cell.col], 2),
      rank: rank(row(m, cell.row), cell.col),
      n: m.cols,
      head: name,
    });
  const drawing = {
    title,
    name: `${t(`attention.kind_${choice.kind}`)}, ${name}`,
    matrix: m,
    rows,
    cols,
    scale: { sqrt: choice.sqrt },
    mask: picture.mask ?? undefined,
    rtl: picture.rtl,
    margin: folded
      ? { label: t("attention.special_share"), values: folded }
      : copied
        ? { label: t("attention.copied_bar"), values: copied }
        : undefined,
  };
  const rules = [
    choice.words && t("attention.rule_words"),
    folded && choice.view === "matrix" && !choice.renormalise && t("attention.rule_fold"),
    copied && !folded && choice.view === "matrix" && t("attention.rule_copy"),
    pick.head === "rollout" && hasRollout(choice.kind, choice.size) && t("attention.rule_rollout"),
  ].filter(Boolean);
  const focus = active ?? locked ?? { row: 0, col: 0 };
  return (
    <Figure
      title={title}
      file={`${choice.kind}-${choice.picks.map(keyOf).join("-")}`}
      tools={choice.renormalise && folded ? <Badge tone="warn">{t("attention.renormalised")}</Badge> : null}
      exports={traceExports(manifest, needsOf(choice))}
      table={() => matrixTable(m, rows, cols)}
      svg={(inDark) => heatmapSvg(drawing, inDark)}
      twin={() => <MatrixTable matrix={m} rows={rows} cols={cols} focus={focus} label={title} />}
      caption={rules.length > 0 ? rules.join(" ") : undefined}
    >
      {choice.view === "matrix" && (
        <Heatmap
          {...drawing}
          describe={describe}
          active={active}
          onActive={onActive}
          locked={locked}
          onLock={onLock}
          onLayer={(by) => step(by, 0)}
          onHead={(by) => step(0, by)}
        />
      )}
      {choice.view === "flow" && (
        <Flow picture={picture} name={drawing.name} active={active ?? locked} onActive={onActive} onLock={onLock} />
      )}
      {choice.view === "table" && <MatrixTable matrix={m} rows={rows} cols={cols} focus={focus} label={title} />}
    </Figure>
  );
}

/** A model without attention: what its output depends on, in place of the matrix. */
function WithoutAttention({ manifest }: { manifest: Manifest }) {
  const influence = useResource(`influence ${manifest.id} words`, (signal) => getInfluence(manifest.id, "words", "unk", signal), {
    cache: true,
  });
  return (
    <div class="stack">
      <div class="note">
        <h2>{t("attention.none_title")}</h2>
        <p>{t("attention.none_text")}</p>
      </div>
      <Await of={influence} height={320}>
        {(found) => {
          const m = fromRows(found.values);
          const most = Math.max(0.1, ...extent(m.data).map(Math.abs));
          return (
            <HeatmapFigure
              title={t("attention.influence_title")}
              file="influence"
              matrix={m}
              rows={manifest.target.tokens.map((token) => ({ text: token.text, lang: manifest.target.lang }))}
              cols={found.units.map((unit) => ({ text: unit.text, lang: manifest.source.lang }))}
              scale={{ signed: true, max: most }}
              format={(value) => signed(value, 1)}
              maxCell={56}
              rtl={manifest.source.dir === "rtl"}
              caption={t("attention.influence_note")}
            />
          );
        }}
      </Await>
    </div>
  );
}
