/** Files made in the browser: drawings, pictures and tables to download. */
import { svgDocument, textElement } from "./lib/svg";

export function download(name: string, type: string, content: string | Blob): void {
  const blob = typeof content === "string" ? new Blob([content], { type }) : content;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** A PNG of an SVG document, `scale` pixels for each of its units. */
export async function svgToPng(svg: string, scale: number): Promise<Blob> {
  const image = new Image();
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(svg);
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(image.naturalWidth * scale);
  canvas.height = Math.round(image.naturalHeight * scale);
  canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) => canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("no picture"))), "image/png"));
}

const KEPT = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "stroke-opacity",
  "stroke-linecap",
  "opacity",
  "font-size",
  "font-weight",
  "font-family",
  "text-anchor",
  "dominant-baseline",
  "writing-mode",
  "visibility",
  "display",
];

const HEAD = 40;

/** A live drawing as a document of its own, under its title, with the styles it is seen with or those of the other theme. Canvases beside it are not part of it. */
export function serialise(live: SVGSVGElement, title: string, inDark: boolean): string {
  const root = document.documentElement;
  const theme = root.dataset.theme;
  root.dataset.theme = inDark ? "dark" : "light";
  root.dataset.still = ""; // no colour is caught halfway
  try {
    const copy = live.cloneNode(true) as SVGSVGElement;
    const from = [live, ...live.querySelectorAll("*")];
    const to = [copy, ...copy.querySelectorAll("*")];
    from.forEach((node, i) => {
      const style = getComputedStyle(node);
      const target = to[i] as SVGElement;
      for (const name of KEPT) {
        const value = style.getPropertyValue(name);
        if (value) target.setAttribute(name, value);
      }
      target.removeAttribute("class");
      target.removeAttribute("style");
    });
    const { width, height } = live.getBoundingClientRect();
    copy.setAttribute("width", String(width));
    copy.setAttribute("height", String(height));
    copy.setAttribute("y", String(HEAD));
    const name = textElement(title, { x: 12, y: 25, "font-size": 15, "font-weight": 600, fill: colourOf("--ink") });
    return svgDocument(
      Math.ceil(width),
      Math.ceil(height) + HEAD,
      colourOf("--surface"),
      title,
      name + new XMLSerializer().serializeToString(copy),
    );
  } finally {
    root.dataset.theme = theme;
    delete root.dataset.still;
  }
}

/** A colour of the theme as it is now, in a form that every program reads. */
function colourOf(token: string): string {
  const probe = document.createElement("i");
  probe.style.color = `var(${token})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
