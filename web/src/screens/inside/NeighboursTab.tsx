/** The tab of states: for each token, where training had one like it, and all states on a map. */
import { useState } from "preact/hooks";
import { getNeighbours } from "../../api";
import type { Card, Manifest, Neighbours, StatePoint } from "../../api-types";
import { choices, Segmented } from "../../components/controls";
import { Figure } from "../../components/Figure";
import { Await } from "../../components/states";
import { useResource } from "../../hooks";
import { t } from "../../i18n";
import { fixed, percent } from "../../lib/format";
import { local } from "../../local/site";
import { around, neighboursTable, pairsOf, pointAt, scaleOf, type Side } from "../../lib/neighbours";
import { params, setParams } from "../../state";

const [WIDTH, HEIGHT, MARGIN, REACH] = [640, 420, 28, 14];
const COUNT = 6;

export function NeighboursTab({ manifest, card }: { manifest: Manifest; card: Card }) {
  const body = { model: card.name, text: manifest.source.text, target: manifest.target.text, count: COUNT, points: true };
  const key = card.neighbours && body.target ? `neighbours ${JSON.stringify(body)}` : null;
  const found = useResource(key, (signal) => getNeighbours(body, signal), { cache: true });
  if (!card.neighbours) return <p class="card muted">{t(local ? "neighbours.none_here" : "neighbours.none")}</p>;
  return (
    <Await of={found} height={420}>
      {(near) => <Seen found={near} card={card} />}
    </Await>
  );
}

function Seen({ found, card }: { found: Neighbours; card: Card }) {
  const side: Side = params.value.side === "encoder" ? "encoder" : "decoder";
  const place = side === "encoder" ? "j" : "q";
  const { tokens } = found[side];
  const chosen = Math.min(Math.max(Number(params.value[place]) || 0, 0), tokens.length - 1);
  const lang = side === "encoder" ? card.source_language : card.target_language;
  return (
    <div class="stack neighbours">
      <div class="row">
        <Segmented
          label={t("neighbours.side")}
          value={side}
          choices={choices(["encoder", "decoder"], (value) => t(`neighbours.side_${value}`))}
          onChange={(value) => setParams({ side: value === "decoder" ? null : value }, { push: true })}
        />
        <div class="row" role="group" aria-label={t("neighbours.column_token")}>
          {tokens.map((token, n) => (
            <button
              key={n}
              type="button"
              class="chip"
              lang={lang}
              aria-pressed={n === chosen}
              onClick={() => setParams({ [place]: n || null }, { push: true })}
            >
              <bdi>{token.text}</bdi>
            </button>
          ))}
        </div>
      </div>
      <div class="neighbours-both">
        <List found={found} side={side} chosen={chosen} />
        <StateMap found={found} side={side} chosen={chosen} />
      </div>
    </div>
  );
}

interface SideProps {
  found: Neighbours;
  side: Side;
  chosen: number;
}

/** The neighbours of one token, each in its sentence. */
function List({ found, side, chosen }: SideProps) {
  const pairs = pairsOf(found);
  const heads = (["token", "likeness", "seen", "source", "target"] as const).map((name) => t(`neighbours.column_${name}`));
  return (
    <Figure
      title={t("neighbours.title")}
      words
      file="neighbours"
      table={() => neighboursTable(found, side, heads)}
      caption={
        <p>
          {t("neighbours.caption", { n: found.states })} {t(`neighbours.state_${side}`)}
        </p>
      }
    >
      <ol class="neighbours-list">
        {(found[side].tokens[chosen]?.near ?? []).map((near, n) => {
          const pair = pairs.get(near.pair);
          if (!pair) return null;
          const [before, token, after] = around(pair[side], near.place);
          return (
            <li key={n}>
              <span class="num neighbours-share">
                <i aria-hidden="true" style={{ width: `${Math.round(Math.max(near.similarity, 0) * 100)}%` }} />
                <span>{fixed(near.similarity, 3)}</span>
              </span>
              <span>
                <bdi>
                  {before}
                  <mark>{token}</mark>
                  {after}
                </bdi>
                <span class="small muted">
                  <bdi>{side === "encoder" ? `→ ${pair.target}` : `← ${pair.source}`}</bdi>
                </span>
              </span>
            </li>
          );
        })}
      </ol>
    </Figure>
  );
}

/** All states of a side in the plane in which they spread most. */
function StateMap({ found, side, chosen }: SideProps) {
  const [at, setAt] = useState<StatePoint | null>(null);
  const { points, tokens, shares } = found[side];
  const pairs = pairsOf(found);
  const scale = scaleOf(found[side], WIDTH, HEIGHT, MARGIN);
  const near = new Set(tokens[chosen]?.near.map((one) => `${one.pair} ${one.place}`));
  const named = (point: StatePoint) => {
    const pair = pairs.get(point.pair);
    return pair ? `${(pair[side][point.place] ?? "").trim()} · ${pair.source} → ${pair.target}` : "";
  };
  const look = (event: PointerEvent) => {
    const box = (event.currentTarget as SVGSVGElement).getBoundingClientRect();
    const place = [((event.clientX - box.left) / box.width) * WIDTH, ((event.clientY - box.top) / box.height) * HEIGHT] as const;
    setAt(pointAt(points, scale, place, REACH));
  };
  const heads = [t("neighbours.column_seen"), "x", "y", t("neighbours.column_source"), t("neighbours.column_target")];
  const rows = () =>
    points.map((point) => {
      const pair = pairs.get(point.pair);
      return [(pair?.[side][point.place] ?? "").trim(), point.x, point.y, pair?.source ?? "", pair?.target ?? ""];
    });
  return (
    <Figure
      title={t("neighbours.map")}
      file="states"
      table={() => ({ head: heads, rows: rows() })}
      caption={
        <>
          <p class="neighbours-at" aria-live="polite">
            <bdi>{at ? named(at) : t("neighbours.map_hover")}</bdi>
          </p>
          <p>{t("neighbours.map_caption", { a: percent(shares[0] ?? 0), b: percent(shares[1] ?? 0) })}</p>
        </>
      }
    >
      <svg
        class="neighbours-map"
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={t("neighbours.map")}
        onPointerMove={look}
        onPointerLeave={() => setAt(null)}
      >
        {points.map((point, n) => (
          <circle
            key={n}
            cx={scale.x(point.x)}
            cy={scale.y(point.y)}
            r={2.2}
            class={near.has(`${point.pair} ${point.place}`) ? "near" : undefined}
          />
        ))}
        {at && <circle class="at" cx={scale.x(at.x)} cy={scale.y(at.y)} r={5} />}
        {tokens.map((token, n) => (
          <g key={n} class={n === chosen ? "own on" : "own"}>
            <circle cx={scale.x(token.x)} cy={scale.y(token.y)} r={4} />
            <text x={scale.x(token.x) + 6} y={scale.y(token.y) + 4}>
              {token.text}
            </text>
          </g>
        ))}
      </svg>
    </Figure>
  );
}
