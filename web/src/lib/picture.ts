/** Pictures as sources: read from files, and drawn for export with the attention of every token on them. */
import { css, entryOf, sequential, signedTable } from "./colour";
import { shorten } from "./labels";
import { row, type Matrix } from "./matrix";
import { element, svgDocument, textElement } from "./svg";
import type { Unit } from "./tokens";

/** Whether a source is a picture: a data URL that holds it. */
export const isPicture = (text: string): boolean => /^data:image\//i.test(text);

/** Values of one row as shares of its largest: what colours a patch. */
export const rowScale = (values: ArrayLike<number>, signed: boolean, max: number) =>
  signed ? { signed, max } : { max: Math.max(1e-9, ...Array.from(values)) };

const MOST = 400_000; // bytes of a file that is sent as it is
const SIDE = 512; // pixels, of one that is too large
const KNOWN = /^image\/(png|jpeg|webp|gif|bmp)$/;

/** A file as a data URL: as it is, or drawn smaller where it is large or of a kind that only browsers read. */
export async function readPicture(file: Blob): Promise<string> {
  const url = await new Promise<string>((done, fail) => {
    const reader = new FileReader();
    reader.onload = () => done(String(reader.result));
    reader.onerror = () => fail(new Error("unreadable"));
    reader.readAsDataURL(file);
  });
  if (KNOWN.test(file.type) && file.size <= MOST) return url;
  const image = new Image();
  image.src = url;
  await image.decode();
  const scale = Math.min(1, SIDE / Math.min(image.naturalWidth || SIDE, image.naturalHeight || SIDE));
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round((image.naturalWidth || SIDE) * scale));
  canvas.height = Math.max(1, Math.round((image.naturalHeight || SIDE) * scale));
  canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
  const plain = canvas.toDataURL("image/png");
  return plain.length <= MOST ? plain : canvas.toDataURL("image/jpeg", 0.92);
}

const [EACH, GAP, TOP, LABEL] = [112, 16, 44, 24];
const PER_ROW = 6;

/** One small picture per target token, its attention on it; `max` is the strongest value of signed data. */
export function picturesSvg(input: {
  title: string;
  image: { readonly url: string; readonly rows: number; readonly columns: number };
  target: readonly Unit[];
  matrix: Matrix | null;
  signed: boolean;
  max: number;
  dark: boolean;
}): string {
  const { image, matrix: m, dark } = input;
  const [surface, ink, line] = dark ? ["#1a1b1f", "#ececf0", "#44474f"] : ["#ffffff", "#1b1c20", "#c9c9c4"];
  const table = input.signed ? signedTable(dark) : sequential(dark);
  const [w, h] = [EACH / image.columns, EACH / image.rows];
  let body = textElement(input.title, { x: GAP, y: 26, "font-size": 15, "font-weight": 600, fill: ink });
  input.target.forEach((unit, u) => {
    const [x, y] = [GAP + (u % PER_ROW) * (EACH + GAP), TOP + Math.floor(u / PER_ROW) * (EACH + LABEL + GAP)];
    body += element("image", {
      href: image.url,
      x,
      y,
      width: EACH,
      height: EACH,
      preserveAspectRatio: "none",
      "image-rendering": "pixelated",
      opacity: m ? 0.55 : 1,
    });
    if (m && unit.tokens[0] < m.rows) {
      const values = row(m, unit.tokens[0]);
      const scale = rowScale(values, input.signed, input.max);
      for (let i = 0; i < image.rows * image.columns; i++)
        body += element("rect", {
          x: x + (i % image.columns) * w,
          y: y + Math.floor(i / image.columns) * h,
          width: w,
          height: h,
          fill: css(table, entryOf(values[i], scale)),
          "fill-opacity": 0.62,
        });
    }
    body += element("rect", { x, y, width: EACH, height: EACH, fill: "none", stroke: line });
    body += textElement(shorten(unit.text, 14), { x: x + EACH / 2, y: y + EACH + 17, "text-anchor": "middle", "font-size": 13, fill: ink });
  });
  const lines = Math.ceil(input.target.length / PER_ROW);
  const across = Math.max(2, Math.min(PER_ROW, input.target.length));
  return svgDocument(GAP + across * (EACH + GAP), TOP + lines * (EACH + LABEL + GAP), surface, input.title, body);
}
