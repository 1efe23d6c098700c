/** The Map's picture: one canvas that stands still, one that moves, and a real link over every box. */
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { Link } from "../components/Link";
import { t } from "../i18n";
import { between, panned, pointOf, WHOLE, zoomed, type Camera } from "../lib/map/camera";
import { laneOf, mixed, type Layout } from "../lib/map/layout";
import { boxesOf, kindOfPart, stripsOf, type Plan, type Side } from "../lib/map/plan";
import { moving } from "../lib/map/moving";
import { stripRect, type Shape, type View } from "../lib/map/shapes";
import { over as decoder, under as encoder } from "../lib/map/standing";
import { href, params } from "../state";
import { calm } from "./clock";
import { paint, type Images } from "./paint";
import { boxName, layerName } from "./say";

const ZOOM = 420;

/** A number of a strip. */
export interface Spot {
  readonly strip: string;
  readonly row: number;
  readonly col: number;
}

export interface StageProps {
  /** the picture at its moment; u: how far its phase has come */
  view(u: number, scale: number, layout: Layout): View;
  images: Images;
  plan: Plan;
  layout: Layout;
  step: number;
  /** changes with what stands still, and with what stays the same while the decoder writes */
  stamp: string;
  ground: string;
  /** tells the share of the phase at each frame while `running` */
  share(now: number): number;
  running: boolean;
  /** more numbers are on their way */
  busy: boolean;
  onKey(event: KeyboardEvent): void;
  onLayer(side: Side, layer: number): void;
  onSpot(spot: Spot): void;
  onHover(spot: Spot | null): void;
  sizeOf(strip: string): { rows: number; cols: number } | null;
  /** hands out what zooms, for buttons elsewhere */
  handle: { current: { zoom(by: number): void } | null };
}

export function Stage(props: StageProps) {
  const { layout, plan } = props;
  const { width, height } = layout;
  const [base, still, move] = [useRef<HTMLCanvasElement>(null), useRef<HTMLCanvasElement>(null), useRef<HTMLCanvasElement>(null)];
  const over = useRef<HTMLDivElement>(null);
  const camera = useRef<Camera>(WHOLE);
  const latest = useRef(props);
  latest.current = props;
  const flight = useRef(0);
  const drawn = useRef(layout);
  const grounded = useRef("");

  const put = (canvas: { current: HTMLCanvasElement | null }, shapes: readonly Shape[]) =>
    paint(canvas.current!, latest.current.layout.width, latest.current.layout.height, camera.current, shapes, latest.current.images);
  const viewAt = (u: number) => latest.current.view(u, camera.current.scale, drawn.current);
  const drawMoving = () => put(move, moving(viewAt(latest.current.share(performance.now()))));
  const drawAll = (again = true) => {
    const view = viewAt(1);
    if (again || grounded.current !== latest.current.ground) put(base, encoder(view));
    grounded.current = latest.current.ground;
    put(still, decoder(view));
    const { x, y, scale } = camera.current;
    over.current!.style.transform = `scale(${scale}) translate(${-x}px, ${-y}px)`;
    still.current!.parentElement!.classList.toggle("near", scale > 1.01);
    drawMoving();
  };
  const look = (to: Camera) => {
    camera.current = to;
    drawAll();
  };
  const fly = (to: Camera) => {
    cancelAnimationFrame(flight.current);
    const [from, began] = [camera.current, performance.now()];
    if (calm()) return look(to);
    const tick = () => {
      const u = Math.min(1, (performance.now() - began) / ZOOM);
      look(between(from, to, u, latest.current.layout));
      if (u < 1) flight.current = requestAnimationFrame(tick);
    };
    tick();
  };
  props.handle.current = {
    zoom: (by) => fly(zoomed(camera.current, by, { x: width / 2, y: height / 2 }, layout)),
  };

  useLayoutEffect(() => {
    // another layout: things go to their new places, if that may be seen
    cancelAnimationFrame(flight.current);
    const [from, began] = [drawn.current, performance.now()];
    if (from !== layout) camera.current = WHOLE;
    const tick = () => {
      const u = calm() || from === layout ? 1 : Math.min(1, (performance.now() - began) / ZOOM);
      drawn.current = mixed(from, layout, u);
      drawAll(from !== layout || grounded.current === "");
      if (drawn.current !== layout) flight.current = requestAnimationFrame(tick);
    };
    tick();
  }, [props.stamp, layout]);
  useEffect(() => {
    if (!props.running) return drawMoving();
    let request = 0;
    const tick = () => {
      drawMoving();
      request = requestAnimationFrame(tick);
    };
    tick();
    return () => cancelAnimationFrame(request);
  }, [props.running]);
  useEffect(() => () => cancelAnimationFrame(flight.current), []);

  // a link costs more than a frame has: they are made when they change
  const links = useMemo(
    () => (
      <>
        {layout.layers.map(({ side, layer, rect }) => (
          <button
            key={`${side} ${layer}`}
            type="button"
            class="map-layer"
            style={{ left: `${rect.x}px`, top: `${rect.y}px`, width: `${rect.w}px` }}
            aria-label={t("map.zoom_layer", { layer: layerName(side, layer) })}
            title={t("map.zoom_layer", { layer: layerName(side, layer) })}
            onClick={() => props.onLayer(side, layer)}
          />
        ))}
        {boxesOf(plan).map((box) => {
          const at =
            box.part === "logits"
              ? { ...layout.output, h: layout.output.h * 0.5 }
              : box.part === "softmax"
                ? { ...layout.output, y: layout.output.y + layout.output.h * 0.5, h: layout.output.h * 0.5 }
                : layout.places.get(box.id)!;
          const own = kindOfPart(box.part) !== null && box.side === "decoder" ? { q: props.step } : {};
          return (
            <Link
              key={box.id}
              class="map-box"
              href={href("inside", { ...box.inside, ...own, c: null })}
              style={{ left: `${at.x}px`, top: `${at.y}px`, width: `${Math.max(6, at.w)}px`, height: `${at.h}px` }}
              aria-label={boxName(box)}
              title={boxName(box)}
            />
          );
        })}
      </>
    ),
    [plan, layout, props.step, params.value],
  );
  return (
    <div
      class="map-stage"
      tabIndex={0}
      role="group"
      aria-label={t("map.picture")}
      aria-busy={props.busy}
      style={{ height: `${height}px` }}
      onKeyDown={props.onKey}
      {...hands(props, camera, look)}
    >
      <canvas ref={base} aria-hidden="true" />
      <canvas ref={still} aria-hidden="true" />
      <canvas ref={move} aria-hidden="true" />
      <div ref={over} class="map-over">
        {links}
      </div>
    </div>
  );
}

/** Pointer and wheel: drag to move, Ctrl and wheel to zoom, a click on a number opens it. */
function hands(props: StageProps, camera: { current: Camera }, look: (to: Camera) => void) {
  const { layout } = props;
  const local = (event: MouseEvent) => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const spotAt = (event: MouseEvent): Spot | null => {
    const window = local(event);
    const { x, y } = pointOf(camera.current, window.x, window.y);
    for (const strip of stripsOf(props.plan)) {
      const size = props.sizeOf(strip.id);
      if (!size) continue;
      const at = stripRect(layout, strip, size.rows);
      if (x < at.x || x >= at.x + at.w || y < at.y || y >= at.y + at.h) continue;
      const row = strip.after === "bridge" ? Math.floor(((y - at.y) / at.h) * size.rows) : laneOf(layout.lanes[strip.side], y);
      if (row === null || row >= size.rows || (strip.side === "decoder" && row > props.step)) return null;
      return { strip: strip.id, row, col: Math.floor(((x - at.x) / at.w) * size.cols) };
    }
    return null;
  };
  const drag = useRef<{ x: number; y: number; far: boolean } | null>(null);
  return {
    onWheel: (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      look(zoomed(camera.current, Math.exp(-event.deltaY / 240), local(event), layout));
    },
    onPointerDown: (event: PointerEvent) => {
      drag.current = { x: event.clientX, y: event.clientY, far: false };
    },
    onPointerMove: (event: PointerEvent) => {
      const from = drag.current;
      if (!from || event.buttons === 0 || camera.current.scale <= 1) return props.onHover(spotAt(event));
      const [dx, dy] = [event.clientX - from.x, event.clientY - from.y];
      if (!from.far && Math.hypot(dx, dy) < 4) return;
      drag.current = { x: event.clientX, y: event.clientY, far: true };
      look(panned(camera.current, dx, dy, layout));
    },
    onPointerLeave: () => props.onHover(null),
    onClickCapture: (event: MouseEvent) => {
      const far = drag.current?.far;
      drag.current = null;
      if (far) {
        event.preventDefault();
        event.stopPropagation();
        return;
      }
      const spot = (event.target as HTMLElement).closest("a, button") ? null : spotAt(event);
      if (spot) props.onSpot(spot);
    },
  };
}
