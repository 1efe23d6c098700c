/** The Map screen: the whole model on one picture with the numbers of this sentence, from afar down to one product. */
import { useMemo, useRef, useState } from "preact/hooks";
import type { Kind, Manifest } from "../api-types";
import { Figure } from "../components/Figure";
import { IconButton } from "../components/controls";
import { NoText } from "../components/NoText";
import { pixels } from "../components/paint";
import { Scrubber, Speed } from "../components/Scrubber";
import { Await, Warnings } from "../components/states";
import { traceExports } from "../components/traceExports";
import { useSize, useTrace } from "../hooks";
import { t } from "../i18n";
import { useKeys } from "../keys";
import { fixed } from "../lib/format";
import { layoutOf, roomFor, type Focus } from "../lib/map/layout";
import { needOfStrip, stripsOf, type Part, type Plan } from "../lib/map/plan";
import type { View } from "../lib/map/shapes";
import { standing } from "../lib/map/standing";
import { momentOf, restOf, storyOf, type Moment } from "../lib/map/timing";
import { maxPool } from "../lib/matrix";
import { stepOf } from "../lib/step";
import { beginsWithSpace } from "../lib/tokens";
import { dark, go, params, setParams } from "../state";
import { CellPanel, HeadButtons } from "../map/CellPanel";
import { Crumbs } from "../map/Crumbs";
import { useMapData, type MapData } from "../map/data";
import { HeadLevel } from "../map/HeadLevel";
import { coloursOf, toSvg } from "../map/paint";
import { usePlayer, type Player } from "../map/player";
import { layerName, partName, say, type Names } from "../map/say";
import { Stage, type Spot } from "../map/Stage";
import { mapTable } from "../map/table";
import { choiceOf, labelsOf, reach } from "./inside/head";
import "../styles/map.css";

export { HeadFigure } from "../map/HeadFigure";

export function MapScreen() {
  const trace = useTrace();
  return (
    <div class="screen map">
      <header class="screen-head">
        <h1>{t("map.title")}</h1>
        <p class="small">{t("map.about")}</p>
      </header>
      <Await of={trace} height={560} empty={<NoText />}>
        {(manifest) => <Level key={manifest.id} manifest={manifest} />}
      </Await>
    </div>
  );
}

/** Near enough for one head there is another picture. */
function Level({ manifest }: { manifest: Manifest }) {
  const near = params.value.z === "2" || params.value.z === "3";
  const headed = near && choiceOf(params.value, manifest) !== null;
  return (
    <div class="stack">
      <Warnings of={manifest} />
      {headed ? (
        <>
          <div class="row wide map-bar">
            <Crumbs manifest={manifest} />
            <Scrubber manifest={manifest} />
          </div>
          <HeadLevel manifest={manifest} />
        </>
      ) : (
        <Picture manifest={manifest} />
      )}
    </div>
  );
}

const namesOf = (manifest: Manifest): Names => ({
  encoder: labelsOf(manifest.source).map(({ text }) => text),
  decoder: labelsOf(manifest.target_in).map(({ text }) => text),
  answer: labelsOf(manifest.target).map(({ text }) => text),
});

function Picture({ manifest }: { manifest: Manifest }) {
  const steps = manifest.target.tokens.length;
  const step = stepOf(params.value.q, steps);
  const data = useMapData(manifest, step);
  const { plan } = data;
  const [box, { width }] = useSize<HTMLDivElement>();
  const height = heightFor(width);
  const names = useMemo(() => namesOf(manifest), [manifest.id]);
  const focus = focusOf(plan);
  const layout = useMemo(
    () =>
      layoutOf(
        plan,
        { encoder: names.encoder.length, decoder: Math.max(1, steps) },
        { width: Math.max(240, width), height },
        roomFor([...names.encoder, ...names.decoder]),
        focus,
      ),
    [plan, width, height, focus?.side, focus?.layer],
  );
  const story = useMemo(() => storyOf(plan, Math.max(1, steps)), [plan, steps]);
  const player = usePlayer(story, momentOf(story, step, params.value.ph), params.value.q !== undefined);
  const [hover, setHover] = useState<Spot | null>(null);
  const handle = useRef<{ zoom(by: number): void } | null>(null);
  const isDark = dark.value;
  const images = useMemo(() => imagesOf(data, isDark), [data.version, plan, isDark]);
  const viewAt = viewOf(manifest, data, names, layout, story, isDark);
  const { moment } = player;
  const spot = spotOf(params.value.c, data);
  const choose = (next: Spot | null) => setParams({ c: next && `${next.strip}~${next.row}~${next.col}` }, { push: true });
  useKeys({ ",": () => player.token(-1), ".": () => player.token(1) });
  const title = t("map.figure", {
    model: manifest.model.name,
    source: manifest.source.image ? "…" : cut(manifest.source.text),
    n: moment.step + 1,
    all: steps,
  });
  const words = say(manifest, data, story, moment, names);
  const ground = [moment.phase < 0 ? moment.phase : "read", data.version, isDark].join();
  const stamp = [moment.step, moment.phase, data.version, isDark, data.logits?.length, plan.passed, width].join();
  const keys = keyboard(player, handle, () => {
    const at = player.box();
    if (at) go("inside", { ...at.inside, q: moment.step });
  });
  return (
    <>
      <div class="row wide map-bar">
        <Crumbs manifest={manifest} />
        <div class="row map-play">
          <IconButton icon="prev" label={t("map.stage_before")} onClick={() => player.stage(-1)} />
          <IconButton
            icon={player.playing ? "pause" : "play"}
            label={player.playing ? t("map.pause") : t("map.play")}
            pressed={player.playing}
            onClick={player.toggle}
          />
          <IconButton icon="next" label={t("map.stage_after")} onClick={() => player.stage(1)} />
          <Speed />
        </div>
        <Scrubber manifest={manifest} onStep={player.to} />
        <div class="row">
          <IconButton icon="minus" label={t("map.zoom_out")} onClick={() => handle.current?.zoom(1 / 1.6)} />
          <IconButton icon="plus" label={t("map.zoom_in")} onClick={() => handle.current?.zoom(1.6)} />
        </div>
      </div>
      <Figure
        title={title}
        file="map"
        table={() => mapTable(manifest, data, names, moment.step)}
        svg={(inDark) => {
          const view = viewOf(manifest, data, names, layout, story, inDark)(restOf(story, moment.step), 1, 1);
          return toSvg(layout.width, layout.height, title, coloursOf(inDark), standing(view), imagesOf(data, inDark));
        }}
        exports={traceExports(
          manifest,
          stripsOf(plan).flatMap((strip) => needOfStrip(strip) ?? []),
        )}
        caption={lacking(data)}
      >
        <p class="map-say" role="status" aria-live={player.playing ? "off" : "polite"}>
          {hover ? hovered(hover, data, names) : words}
        </p>
        <div ref={box}>
          {width > 0 && (
            <Stage
              view={(u, scale, now) => ({ ...viewAt(moment, u, scale), layout: now })}
              images={images}
              plan={plan}
              layout={layout}
              step={moment.step}
              stamp={stamp}
              ground={ground}
              share={player.share}
              running={player.running}
              onKey={keys}
              onLayer={(side, layer) =>
                setParams({ z: 1, k: side === "encoder" ? "enc_self" : "cross", l: layer, h: null }, { push: true })
              }
              onSpot={choose}
              onHover={(next) => setHover((old) => (JSON.stringify(old) === JSON.stringify(next) ? old : next))}
              sizeOf={(strip) => data.strip(strip)}
              handle={handle}
              busy={!data.complete}
            />
          )}
        </div>
      </Figure>
      {focus && <Heads manifest={manifest} data={data} {...focus} />}
      {spot ? (
        <CellPanel
          pass={data.pass}
          strip={stripsOf(plan).find(({ id }) => id === spot.strip)!}
          matrix={data.strip(spot.strip)!}
          spot={spot}
          token={names[stripsOf(plan).find(({ id }) => id === spot.strip)!.side][spot.row] ?? ""}
          onSpot={choose}
        />
      ) : (
        data.pass && <p class="note">{t("map.cell_hint")}</p>
      )}
    </>
  );
}

const cut = (text: string) => ([...text].length > 60 ? `${[...text].slice(0, 59).join("")}…` : text);

const heightFor = (width: number) => (width < 700 ? 620 : Math.max(400, Math.min(680, innerHeight - 372)));

/** The layer of the address that is looked at from near. */
function focusOf(plan: Plan): Focus | null {
  const { z, k, l } = params.value;
  const side = k === "enc_self" ? "encoder" : "decoder";
  const layer = Number(l ?? plan.layers[side]);
  return z === "1" && Number.isInteger(layer) && layer >= 1 && layer <= plan.layers[side] ? { side, layer } : null;
}

/** Luong's six stages by their numbers. */
const STAGES: Readonly<Partial<Record<Part, string>>> = {
  recurrence: "①",
  score: "②",
  weights: "③",
  context: "④",
  attentional: "⑤",
  softmax: "⑥",
};

/** What the picture shows at a moment. */
function viewOf(manifest: Manifest, data: MapData, names: Names, layout: View["layout"], story: View["story"], isDark: boolean) {
  return (moment: Moment, u: number, scale: number): View => ({
    plan: data.plan,
    layout,
    story,
    moment,
    u,
    scale,
    names,
    answer: names.answer,
    candidates: (manifest.steps[moment.step]?.top ?? []).map((one) => ({
      text: (beginsWithSpace(one.piece ?? "") && one.text.trim() !== "" ? "␣" : "") + (one.text.trim() || "␣"),
      p: Math.exp(one.logprob ?? -Infinity),
      logit: data.logits ? data.logits[one.id] : null,
      chosen: one.id === manifest.steps[moment.step].id,
    })),
    colours: coloursOf(isDark),
    bidirectional: manifest.rnn?.bidirectional ?? false,
    weights: data.weights,
    scores:
      data.scores && moment.step < data.scores.rows
        ? data.scores.data.subarray(moment.step * data.scores.cols, (moment.step + 1) * data.scores.cols)
        : null,
    size: data.strip,
    title: layerName,
    part: (part, side) =>
      [
        data.plan.arch === "luong" && side === "decoder" ? STAGES[part] : "",
        data.plan.memory && part === "bridge" ? t("map.part_start") : partName(part),
      ]
        .filter(Boolean)
        .join(" "),
  });
}

/** Numbers of every strip as pixels; of wide vectors the largest of neighbours. */
function imagesOf(data: MapData, isDark: boolean): Map<string, HTMLCanvasElement> {
  const images = new Map<string, HTMLCanvasElement>();
  for (const { id } of stripsOf(data.plan)) {
    const m = data.strip(id);
    if (m) images.set(id, pixels(maxPool(m, m.rows, 128), { signed: true, sqrt: true, max: reach(m) }, isDark));
  }
  return images;
}

/** The number of an address that is on the picture; null without one. */
function spotOf(text: string | undefined, data: MapData): Spot | null {
  const [strip = "", row, col] = (text ?? "").split("~");
  const m = data.strip(strip);
  const [r, c] = [Number(row), Number(col)];
  return m && Number.isInteger(r) && Number.isInteger(c) && r >= 0 && r < m.rows && c >= 0 && c < m.cols ? { strip, row: r, col: c } : null;
}

function hovered(spot: Spot, data: MapData, names: Names): string {
  const strip = stripsOf(data.plan).find(({ id }) => id === spot.strip)!;
  const m = data.strip(spot.strip)!;
  const token = strip.after === "bridge" ? partName("bridge") : (names[strip.side][spot.row] ?? "");
  return `${layerName(strip.side, strip.layer)}, ${partName(strip.after)}. ${t("map.hover", { token, dim: spot.col + 1, value: fixed(m.data[spot.row * m.cols + spot.col], 3) })}`;
}

function keyboard(player: Player, handle: { current: { zoom(by: number): void } | null }, open: () => void) {
  const acts: Readonly<Record<string, () => void>> = {
    ArrowRight: () => player.stage(1),
    ArrowLeft: () => player.stage(-1),
    ArrowDown: () => player.token(1),
    ArrowUp: () => player.token(-1),
    " ": player.toggle,
    "+": () => handle.current?.zoom(1.6),
    "=": () => handle.current?.zoom(1.6),
    "-": () => handle.current?.zoom(1 / 1.6),
    Enter: open,
    Escape: () => {
      handle.current?.zoom(1e-3);
      setParams({ z: null, c: null });
    },
  };
  return (event: KeyboardEvent) => {
    const inner = event.target !== event.currentTarget;
    const act = acts[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey || (inner && (event.key === "Enter" || event.key === " "))) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  };
}

/** The heads of the layer that is near, each a step nearer. */
function Heads({ manifest, data, side, layer }: { manifest: Manifest; data: MapData; side: string; layer: number }) {
  const kinds: Kind[] = side === "encoder" ? ["enc_self"] : ["dec_self", "cross"];
  return (
    <>
      {kinds.map((kind) => (
        <section key={kind} class="card stack">
          <h2>{partName(kind)}</h2>
          <HeadButtons
            count={manifest.model.kinds[kind]?.heads ?? 0}
            picture={(head) => {
              const m = data.head(kind, layer - 1, head);
              return m && pixels(maxPool(m, 64, 64), { sqrt: true }, dark.value);
            }}
            onHead={(head) => setParams({ z: 2, k: kind, l: layer, h: head + 1, j: null, stage: null }, { push: true })}
          />
        </section>
      ))}
    </>
  );
}

/** What is not drawn, and why. */
function lacking(data: MapData): string | undefined {
  if (!data.complete || data.empty === 0) return undefined;
  if (data.pass) return t("map.too_many", { n: data.empty });
  return t(data.torchless ? "map.no_torch" : "map.no_states");
}
