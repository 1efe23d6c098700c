/** Shapes of the Map onto a canvas, and into an SVG document. */
import { prepare } from "../components/paint";
import type { Camera } from "../lib/map/camera";
import type { Colours, Shape } from "../lib/map/shapes";
import { element, svgDocument, textElement } from "../lib/svg";

export type Images = ReadonlyMap<string, HTMLCanvasElement>;
const FONT = 'ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Noto Sans KR", "Noto Sans CJK KR", sans-serif';

const LIGHT: Colours = {
  surface: "#ffffff",
  sunken: "#f4f4f1",
  ink: "#1b1c20",
  muted: "#5d606a",
  line: "#c9cbd2",
  accent: "#3454d1",
  soft: "#e3e8fb",
  pulse: "#d06a00",
  parts: {
    enc_self: "#0b7a75",
    dec_self: "#8a3fa0",
    cross: "#b35309",
    context: "#b35309",
    weights: "#b35309",
    score: "#b35309",
    copy: "#6b6f2a",
    ffn: "#5d606a",
    recurrence: "#0b7a75",
    softmax: "#7c8fe0",
    embedding: "#5d606a",
    bridge: "#b35309",
    attentional: "#8a3fa0",
  },
};
const DARK: Colours = {
  surface: "#1a1b1f",
  sunken: "#212328",
  ink: "#ececf0",
  muted: "#a3a7b3",
  line: "#44474f",
  accent: "#93a8ff",
  soft: "#272e55",
  pulse: "#ffc266",
  parts: {
    enc_self: "#5fd0c8",
    dec_self: "#d79be8",
    cross: "#ffab66",
    context: "#ffab66",
    weights: "#ffab66",
    score: "#ffab66",
    copy: "#c9cf6e",
    ffn: "#a3a7b3",
    recurrence: "#5fd0c8",
    softmax: "#6478d8",
    embedding: "#a3a7b3",
    bridge: "#ffab66",
    attentional: "#d79be8",
  },
};
export const coloursOf = (dark: boolean): Colours => (dark ? DARK : LIGHT);

/** Paints shapes as the camera sees them; what is outside is left out by the canvas itself. */
export function paint(
  canvas: HTMLCanvasElement,
  width: number,
  height: number,
  camera: Camera,
  shapes: readonly Shape[],
  images: Images,
): void {
  const context = prepare(canvas, width, height);
  context.scale(camera.scale, camera.scale);
  context.translate(-camera.x, -camera.y);
  context.textBaseline = "middle";
  for (const shape of shapes) {
    context.globalAlpha = ("alpha" in shape ? shape.alpha : undefined) ?? 1;
    draw(context, shape, images);
  }
  context.globalAlpha = 1;
}

function draw(context: CanvasRenderingContext2D, shape: Shape, images: Images): void {
  switch (shape.k) {
    case "rect": {
      const { x, y, w, h } = shape.at;
      context.beginPath();
      if (shape.round) context.roundRect(x, y, Math.max(0, w), Math.max(0, h), shape.round);
      else context.rect(x, y, w, h);
      if (shape.fill) {
        context.fillStyle = shape.fill;
        context.fill();
      }
      if (shape.stroke) {
        context.setLineDash(shape.dash ? [3, 3] : []);
        context.lineWidth = 1;
        context.strokeStyle = shape.stroke;
        context.stroke();
        context.setLineDash([]);
      }
      return;
    }
    case "poly":
      context.beginPath();
      for (let n = 0; n < shape.points.length; n += 2) context.lineTo(shape.points[n], shape.points[n + 1]);
      context.fillStyle = shape.fill;
      context.fill();
      return;
    case "curve": {
      const [a, b, ...rest] = shape.at;
      context.beginPath();
      context.moveTo(a, b);
      context.bezierCurveTo(...(rest as [number, number, number, number, number, number]));
      context.lineWidth = shape.width;
      context.strokeStyle = shape.stroke;
      context.stroke();
      return;
    }
    case "dot":
      context.beginPath();
      context.arc(shape.x, shape.y, shape.r, 0, 2 * Math.PI);
      context.fillStyle = shape.fill;
      context.fill();
      return;
    case "text":
      context.font = `${shape.bold ? "600 " : ""}${shape.size}px ${FONT}`;
      context.textAlign = shape.anchor === "middle" ? "center" : shape.anchor === "end" ? "right" : "left";
      context.fillStyle = shape.fill;
      context.fillText(shortened(context, shape.text, shape.wide), shape.x, shape.y);
      return;
    case "image": {
      const image = images.get(shape.id);
      const { x, y, w, h } = shape.at;
      const part = shape.part ?? 1;
      if (image && shape.rows > 0) context.drawImage(image, 0, shape.first, Math.max(1, image.width * part), shape.rows, x, y, w * part, h);
    }
  }
}

/** A text that fits, cut in its middle where it must be. */
function shortened(context: CanvasRenderingContext2D, text: string, wide = Infinity): string {
  if (wide === Infinity || context.measureText(text).width <= wide) return text;
  const points = [...text];
  for (let keep = Math.min(points.length - 1, 24); keep > 0; keep--) {
    const short = `${points.slice(0, Math.ceil(keep / 2)).join("")}…${points.slice(points.length - Math.floor(keep / 2)).join("")}`;
    if (context.measureText(short).width <= wide) return short;
  }
  return points.length > 1 ? `${points[0]}…` : text;
}

const HEAD = 40;

/** The same as a document: text stays text, numbers of strips are one picture each. */
export function toSvg(width: number, height: number, title: string, colours: Colours, shapes: readonly Shape[], images: Images): string {
  const measure = document.createElement("canvas").getContext("2d")!;
  const body = shapes.map((shape) => one(shape, images, measure)).join("");
  const name = textElement(title, { x: 12, y: 25, "font-size": 15, "font-weight": 600, fill: colours.ink });
  return svgDocument(
    Math.ceil(width),
    Math.ceil(height) + HEAD,
    colours.surface,
    title,
    name + element("g", { transform: `translate(0 ${HEAD})` }, body),
  );
}

const figure = (value: number) => Math.round(value * 100) / 100;
const box = ({ x, y, w, h }: { x: number; y: number; w: number; h: number }) => ({
  x: figure(x),
  y: figure(y),
  width: figure(Math.max(0, w)),
  height: figure(Math.max(0, h)),
});

function one(shape: Shape, images: Images, measure: CanvasRenderingContext2D): string {
  const opacity = shape.alpha === undefined ? undefined : figure(shape.alpha);
  switch (shape.k) {
    case "rect":
      return element("rect", {
        ...box(shape.at),
        rx: shape.round,
        fill: shape.fill ?? "none",
        stroke: shape.stroke,
        "stroke-dasharray": shape.dash ? "3 3" : undefined,
        opacity,
      });
    case "poly":
      return element("polygon", { points: shape.points.map(figure).join(" "), fill: shape.fill, opacity });
    case "curve": {
      const [a, b, ...rest] = shape.at.map(figure);
      return element("path", {
        d: `M${a} ${b}C${rest.join(" ")}`,
        fill: "none",
        stroke: shape.stroke,
        "stroke-width": figure(shape.width),
        opacity,
      });
    }
    case "dot":
      return element("circle", { cx: figure(shape.x), cy: figure(shape.y), r: figure(shape.r), fill: shape.fill, opacity });
    case "text":
      measure.font = `${shape.bold ? "600 " : ""}${shape.size}px ${FONT}`;
      return textElement(shortened(measure, shape.text, shape.wide), {
        x: figure(shape.x),
        y: figure(shape.y),
        "font-size": figure(shape.size),
        "font-weight": shape.bold ? 600 : undefined,
        fill: shape.fill,
        "text-anchor": shape.anchor,
        "dominant-baseline": "central",
        opacity,
      });
    case "image": {
      const image = images.get(shape.id);
      if (!image || shape.rows === 0) return "";
      const rows = document.createElement("canvas");
      [rows.width, rows.height] = [image.width, shape.rows];
      rows.getContext("2d")!.drawImage(image, 0, -shape.first);
      return element("image", {
        ...box(shape.at),
        href: rows.toDataURL(),
        preserveAspectRatio: "none",
        style: "image-rendering:pixelated",
        opacity,
      });
    }
  }
}
