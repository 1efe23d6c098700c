/** Two rows of tokens and the links between them as an SVG document, for export. */
import { graphemes, shorten, widthOf } from "./labels";
import { largest, type Matrix } from "./matrix";
import { element, svgDocument, textElement } from "./svg";
import type { Unit } from "./tokens";

const FONT = 18;
const BOX = 34;
const LINK = 110;
const COLOURS = {
  light: { surface: "#ffffff", box: "#f1f1ee", ink: "#1b1c20", faint: "#666973", accent: "#3454d1", line: "#e4e4e0" },
  dark: { surface: "#1a1b1f", box: "#232529", ink: "#ececf0", faint: "#8d919d", accent: "#93a8ff", line: "#2c2e34" },
};

interface Strip {
  readonly units: readonly Unit[];
  readonly rtl: boolean;
}

/** Left edge and width of every box, in the order of the eye. */
function place({ units, rtl }: Strip): { x: number; width: number }[] {
  const widths = units.map((unit) => Math.max(26, widthOf(shorten(unit.text, 24)) * FONT + 16));
  const places: { x: number; width: number }[] = [];
  let x = 16;
  const order = units.map((_, i) => (rtl ? units.length - 1 - i : i));
  for (const i of order) {
    places[i] = { x, width: widths[i] };
    x += widths[i] + 4;
  }
  return places;
}

/** Rows of `matrix` are target tokens, columns source tokens; `max` is the value of the widest link. */
export function stripsSvg(input: {
  title: string;
  source: Strip;
  target: Strip;
  matrix: Matrix | null;
  max: number;
  confidence: readonly number[];
  dark: boolean;
}): string {
  const colour = COLOURS[input.dark ? "dark" : "light"];
  const [sources, targets] = [place(input.source), place(input.target)];
  const [top, bottom] = [44, 44 + BOX + LINK];
  const centre = (place: { x: number; width: number }) => place.x + place.width / 2;
  let body = textElement(input.title, { x: 16, y: 26, "font-size": 15, "font-weight": 600, fill: colour.ink });
  const m = input.matrix;
  input.target.units.forEach((unit, u) => {
    if (!m) return;
    const values = input.source.units.map((key) =>
      key.tokens.reduce((sum, k) => sum + unit.tokens.reduce((s, q) => s + m.data[q * m.cols + k] / unit.tokens.length, 0), 0),
    );
    for (const k of largest(values, 3)) {
      const strength = Math.min(1, values[k] / input.max);
      if (strength < 0.12) continue;
      const [x0, x1, y0, y1] = [centre(sources[k]), centre(targets[u]), top + BOX, bottom];
      const middle = (y0 + y1) / 2;
      body += element("path", {
        d: `M${x0} ${y0}C${x0} ${middle} ${x1} ${middle} ${x1} ${y1}`,
        fill: "none",
        stroke: colour.accent,
        "stroke-width": 1 + 6 * strength,
        "stroke-opacity": 0.1 + 0.5 * strength,
      });
    }
  });
  const draw = (strip: Strip, places: readonly { x: number; width: number }[], y: number) => {
    strip.units.forEach((unit, u) => {
      body += element("rect", { x: places[u].x, y, width: places[u].width, height: BOX, rx: 5, fill: colour.box });
      body += textElement(shorten(unit.text, 24), {
        x: centre(places[u]),
        y: y + BOX / 2 + 6,
        "text-anchor": "middle",
        "font-size": unit.special ? 12 : FONT,
        fill: unit.special ? colour.faint : colour.ink,
      });
    });
  };
  draw(input.source, sources, top);
  draw(input.target, targets, bottom);
  input.target.units.forEach((unit, u) => {
    const sure = unit.tokens.reduce((product, t) => product * (input.confidence[t] ?? 1), 1);
    body += element("rect", { x: targets[u].x, y: bottom + BOX + 4, width: targets[u].width, height: 3, rx: 1.5, fill: colour.line });
    body += element("rect", {
      x: targets[u].x,
      y: bottom + BOX + 4,
      width: targets[u].width * sure,
      height: 3,
      rx: 1.5,
      fill: colour.accent,
    });
  });
  const right = Math.max(...[...sources, ...targets].map((place) => place.x + place.width), graphemes(input.title).length * 8);
  return svgDocument(Math.ceil(right + 16), bottom + BOX + 24, colour.surface, input.title, body);
}
