/** One row of a head in motion, framed: with its table, its link and its export. */
import type { ComponentChildren } from "preact";
import type { Manifest } from "../api-types";
import { Figure } from "../components/Figure";
import { speedOf } from "../components/Scrubber";
import { traceExports } from "../components/traceExports";
import { t } from "../i18n";
import { row } from "../lib/matrix";
import { element, svgDocument, textElement } from "../lib/svg";
import { needsOf, type Choice, type Chosen, type Head } from "../screens/inside/head";
import { PACE } from "../screens/inside/AttentionTab";
import { Motion } from "./Motion";
import { coloursOf } from "./paint";

export interface HeadFigureProps {
  manifest: Manifest;
  choice: Choice;
  head: Head;
  chosen: Chosen;
  onPick(key: number): void;
  tools?: ComponentChildren;
}

export function HeadFigure({ manifest, choice, head, chosen, onPick, tools }: HeadFigureProps) {
  const title = t("map.head_title", {
    kind: t(`attention.kind_${choice.kind}`),
    l: choice.layer + 1,
    h: choice.head + 1,
    q: head.rows[chosen.q].text,
  });
  return (
    <Figure
      title={title}
      file="head-in-motion"
      table={() => headTable(head, chosen)}
      svg={(inDark) => pictured(title, inDark)}
      exports={traceExports(manifest, needsOf(choice, manifest))}
      caption={t("map.head_hint")}
      tools={tools}
    >
      <Motion head={head} chosen={chosen} stage={choice.stage} pace={(0.8 * PACE) / speedOf()} onPick={onPick} />
    </Figure>
  );
}

/** The canvas as it is, in a document. */
function pictured(title: string, inDark: boolean): string {
  const canvas = document.querySelector<HTMLCanvasElement>(".map-motion canvas");
  const { width = 0, height = 0 } = canvas?.getBoundingClientRect() ?? {};
  const colours = coloursOf(inDark);
  const image = canvas ? element("image", { x: 0, y: 40, width, height, href: canvas.toDataURL() }) : "";
  const name = textElement(title, { x: 12, y: 25, "font-size": 15, "font-weight": 600, fill: colours.ink });
  return svgDocument(Math.ceil(width), Math.ceil(height) + 40, colours.surface, title, name + image);
}

const headTable = (head: Head, { q }: Chosen) => ({
  head: [t("map.keys"), t("map.scores"), t("inside.scaled"), t("map.weights")],
  rows: head.cols.map(({ text }, k) => [text, row(head.scores, q)[k], row(head.placed, q)[k], row(head.weights, q)[k]]),
});
