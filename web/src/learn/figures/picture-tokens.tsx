/** A picture cut into patches; the chosen one flattened, projected and given its place. With a model of pictures, where that looks. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { getPositions } from "../../api";
import type { Arch, Card, Manifest } from "../../api-types";
import { Button, choices, Segmented } from "../../components/controls";
import { Figure } from "../../components/Figure";
import { Patches } from "../../components/Patches";
import { Await } from "../../components/states";
import { toast } from "../../components/toasts";
import { Tokens } from "../../components/Tokens";
import { useResource, useTensors, useTraceOf } from "../../hooks";
import { combine, fromAtlas, row } from "../../lib/matrix";
import { cut, drawing, freshMatrix, placeRow, project, scaled } from "../../lib/patches";
import { readPicture } from "../../lib/picture";
import { range } from "../../lib/range";
import { models } from "../../state";
import { Strip } from "../parts";
import { wordsOf } from "../say";
import { pictureTokens } from "../words/picture-tokens";
import type { FigureProps } from ".";
import "./picture-tokens.css";

export const arch: readonly Arch[] = [];
const say = wordsOf(pictureTokens);
const SIDE = 32;
const WIDTH = 16;
const SIZES = ["4", "8", "16"] as const;
type Size = (typeof SIZES)[number];

interface Picture {
  readonly rgba: Uint8ClampedArray;
  readonly url: string;
}

export default function PictureTokens({ tell }: Pick<FigureProps, "tell">) {
  const [size, setSize] = useState<Size>("8");
  const [own, setOwn] = useState<Picture | null>(null);
  const [active, setActive] = useState<number | null>(null);
  const [locked, setLocked] = useState<number | null>(null);
  const file = useRef<HTMLInputElement>(null);
  const patch = Number(size);
  const columns = SIDE / patch;
  const all = columns * columns;
  const picture = useMemo(() => own ?? toPicture(drawing(SIDE)), [own]);
  const patches = useMemo(() => cut(picture.rgba, SIDE, patch), [picture, patch]);
  const card = models.value?.find((one) => one.source === "image") ?? null;
  const places = usePlaces(card, all);
  const at = Math.min(active ?? locked ?? Math.floor(all / 2) + 1, all - 1);
  const numbers = patches[0].length;
  useEffect(() => tell({ side: SIDE, patch, tokens: patches.length, numbers, half: cut(picture.rgba, SIDE, patch / 2).length }), [patches]);
  const width = places?.[0]?.length ?? WIDTH;
  const w = useMemo(() => freshMatrix(numbers, width, 1), [numbers, width]);
  const x = scaled(patches[at]);
  const projected = project(x, w, width);
  const place = places ? Float32Array.from(places[at]) : placeRow(at, width);
  const token = projected.map((value, d) => value + place[d]);
  const take = async (given: File | undefined) => {
    if (!given) return;
    try {
      setOwn(await squared(await readPicture(given)));
    } catch {
      toast(say("bad"));
    }
  };
  return (
    <Figure
      title={say("title")}
      words
      table={() => ({ head: ["", "x W", "+"], rows: range(width).map((d) => [d + 1, projected[d], token[d]]) })}
    >
      <div class="stack">
        <div class="row">
          <Segmented
            label={say("patch")}
            value={size}
            onChange={(one: Size) => setSize(one)}
            choices={choices(SIZES, (n) => say("pixels", { n }))}
          />
          <Button onClick={() => (own ? setOwn(null) : file.current?.click())}>{say(own ? "ours" : "choose")}</Button>
          <input
            ref={file}
            type="file"
            accept="image/*"
            hidden
            aria-label={say("choose")}
            onChange={(event) => {
              void take(event.currentTarget.files?.[0]);
              event.currentTarget.value = "";
            }}
          />
        </div>
        <div class="picture-tokens">
          <Patches
            name={say("picture", { side: SIDE })}
            image={{ url: picture.url, rows: columns, columns }}
            active={active}
            locked={locked ?? at}
            onActive={setActive}
            onLock={setLocked}
            size={200}
          />
          <div class="stack">
            <p class="small muted">{say("pick", { n: at + 1, all, row: Math.floor(at / columns) + 1, column: (at % columns) + 1 })}</p>
            {(
              [
                ["flat", 4, x, 1],
                ["projected", 1, projected, 2],
                ["place", 2, place, 2],
                ["token", 3, token, 2],
              ] as const
            ).map(([key, term, values, max]) => (
              <div key={key}>
                <p class={`small term-${term}`}>{say(key, { n: values.length })}</p>
                <Strip values={values} max={max} name={say(key, { n: values.length })} />
              </div>
            ))}
          </div>
        </div>
        <p class="small">
          {say("matrix", { numbers, width })} {card && places && say("own_places", { model: card.name })}
        </p>
        {card ? <Looks card={card} url={picture.url} /> : <p class="small muted">{say("no_model")}</p>}
      </div>
    </Figure>
  );
}

/** Rows of places that a model has learned, if it has as many as there are patches here. */
function usePlaces(card: Card | null, count: number): readonly (readonly number[])[] | null {
  const fits = card?.image && (card.image.size / card.image.patch) ** 2 === count;
  const found = useResource(fits ? `places ${card.name}` : null, (signal) => getPositions(card!.name, count, signal), { cache: true });
  return found.value?.rows?.length === count ? found.value.rows : null;
}

function Looks({ card, url }: { card: Card; url: string }) {
  const trace = useTraceOf({ model: card.name, text: url });
  return (
    <div>
      <h3>{say("model", { model: card.name })}</h3>
      <Await of={trace} height={200}>
        {(manifest) => <Look manifest={manifest} />}
      </Await>
    </div>
  );
}

function Look({ manifest }: { manifest: Manifest }) {
  const [active, setActive] = useState<number | null>(null);
  const [locked, setLocked] = useState<number | null>(0);
  const cross = manifest.attention.cross;
  const tensors = useTensors(manifest.id, cross ? ["cross.atlas"] : []);
  const image = manifest.source.image;
  const count = manifest.target.tokens.length;
  if (!image || count === 0) return <p>{say("none")}</p>;
  const step = Math.min(active ?? locked ?? 0, count - 1);
  const atlas = tensors.value?.get("cross.atlas");
  const weights =
    atlas && cross
      ? combine(
          range(cross.shape[1]).map((head) => fromAtlas(atlas, cross.shape[0] - 1, head)),
          "mean",
        )
      : null;
  return (
    <div class="stack">
      <Tokens
        name={say("writes")}
        side={manifest.target}
        active={active}
        locked={locked}
        onActive={setActive}
        onLock={(token) => token !== null && setLocked(token)}
      />
      {weights && (
        <Patches
          name={say("looks", { token: manifest.target.tokens[step].text })}
          image={image}
          values={row(weights, step)}
          scale={{ max: Math.max(1e-9, ...row(weights, step)) }}
          size={200}
        />
      )}
    </div>
  );
}

function toPicture(rgba: Uint8ClampedArray): Picture {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = SIDE;
  const brush = canvas.getContext("2d")!;
  const data = brush.createImageData(SIDE, SIDE);
  data.data.set(rgba);
  brush.putImageData(data, 0, 0);
  return { rgba, url: canvas.toDataURL("image/png") };
}

/** A picture as jumok takes it: on white, the square in its middle, scaled down. */
async function squared(url: string): Promise<Picture> {
  const image = new Image();
  image.src = url;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = SIDE;
  const brush = canvas.getContext("2d")!;
  brush.fillStyle = "#fff";
  brush.fillRect(0, 0, SIDE, SIDE);
  const side = Math.min(image.naturalWidth, image.naturalHeight);
  const [left, top] = [(image.naturalWidth - side) / 2, (image.naturalHeight - side) / 2];
  brush.imageSmoothingQuality = "high";
  brush.drawImage(image, left, top, side, side, 0, 0, SIDE, SIDE);
  return { rgba: brush.getImageData(0, 0, SIDE, SIDE).data, url: canvas.toDataURL("image/png") };
}
