/** How one number of a strip was made, from the numbers before it. */
import { Await } from "../components/states";
import { Button, IconButton } from "../components/controls";
import { Link } from "../components/Link";
import { Lines } from "../components/Sums";
import { t } from "../i18n";
import { labelsFor, lettersOf, type Pass } from "../lib/forward";
import { fixed } from "../lib/format";
import type { Strip } from "../lib/map/plan";
import type { Matrix } from "../lib/matrix";
import { useMade } from "../screens/inside/made";
import { stageName, tensorName } from "../screens/inside/names";
import { href } from "../state";
import { layerName } from "./say";
import type { Spot } from "./Stage";

interface CellProps {
  pass: Pass | null;
  strip: Strip;
  matrix: Matrix;
  spot: Spot;
  token: string;
  onSpot(spot: Spot | null): void;
}

export function CellPanel(props: CellProps) {
  const { pass, strip, matrix, spot, token, onSpot } = props;
  const value = matrix.data[spot.row * matrix.cols + spot.col];
  const move = (by: number) => onSpot({ ...spot, col: (spot.col + by + matrix.cols) % matrix.cols });
  const place = pass && strip.place >= 0 ? strip.place : null;
  const target =
    place === null ? { tab: strip.need?.startsWith("rnn") ? "recurrence" : null } : { tab: "layers", n: place, q: spot.row, j: spot.col };
  return (
    <section class="card stack map-cell" aria-label={t("map.cell_title")}>
      <div class="row between">
        <h2>{t("map.cell_title")}</h2>
        <IconButton icon="close" label={t("map.close")} onClick={() => onSpot(null)} />
      </div>
      <div class="row wide">
        <span class="small">
          {t("map.cell_of", { layer: layerName(strip.side, strip.layer), token, dim: spot.col + 1 })} = <b>{fixed(value, 4)}</b>
        </span>
        <span class="row">
          <IconButton icon="prev" label={`${t("map.dimension")} −`} onClick={() => move(-1)} />
          <IconButton icon="next" label={`${t("map.dimension")} +`} onClick={() => move(1)} />
        </span>
        <Link class="btn" href={href("inside", { k: null, l: null, h: null, stage: null, z: null, ph: null, c: null, ...target })}>
          {t("map.open_inside")}
        </Link>
      </div>
      {place !== null && <Chain pass={pass!} place={place} row={spot.row} col={spot.col} value={value} />}
    </section>
  );
}

/** The number, and below it one of those that it was made of, down to a product. */
function Chain({ pass, place, row, col, value }: { pass: Pass; place: number; row: number; col: number; value: number }) {
  const one = pass.tensors[place];
  const made = useMade(pass, place, { head: 0, row, col });
  const names = labelsFor(pass, lettersOf(one)[1], one.shape[one.shape.length - 1] ?? 1);
  return (
    <div class="stack">
      <p class="small muted">
        {stageName(one.stage, pass)} · {tensorName(one.operation)} · {t(`layers.how_${one.how}`)}
      </p>
      {!made.light && <p class="small muted">{t("layers.too_large")}</p>}
      {one.how !== "opaque" && made.light && (
        <Await of={made.tensors} height={100}>
          {() => <Lines of={made.lines(value) ?? []} names={names} />}
        </Await>
      )}
    </div>
  );
}

/** A row of buttons, one for each head of a layer, with its weights as a small picture. */
export function HeadButtons({
  count,
  picture,
  onHead,
}: {
  count: number;
  picture(head: number): HTMLCanvasElement | null;
  onHead(head: number): void;
}) {
  return (
    <div class="row thumbs map-heads" role="group" aria-label={t("map.heads_of")}>
      {Array.from({ length: count }, (_, head) => (
        <Button key={head} onClick={() => onHead(head)}>
          <Thumb image={picture(head)} />
          {t("map.head_n", { n: head + 1 })}
        </Button>
      ))}
    </div>
  );
}

const Thumb = ({ image }: { image: HTMLCanvasElement | null }) => (
  <canvas
    class="map-thumb"
    aria-hidden="true"
    ref={(node) => {
      if (!node || !image) return;
      [node.width, node.height] = [image.width, image.height];
      node.getContext("2d")!.drawImage(image, 0, 0);
    }}
  />
);
