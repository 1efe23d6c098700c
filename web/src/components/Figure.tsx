/** The frame around every picture: title, table twin, link, export. */
import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { download, serialise, svgToPng } from "../export";
import { t } from "../i18n";
import { toCsv, type TableData } from "../lib/csv";
import { dark, permalink } from "../state";
import { copyText } from "./FirstRun";
import { Icon } from "./Icon";
import { Menu, type MenuItem } from "./Popover";
import { Table } from "./Table";
import { IconButton, Segmented } from "./controls";
import { toast } from "./states";

export interface FigureProps {
  title: string;
  /** what stands under the picture */
  caption?: ComponentChildren;
  /** controls that stand in the title row */
  tools?: ComponentChildren;
  /** the same data as a table; also what CSV and TSV hold */
  table: () => TableData;
  /** the picture as an SVG document in the asked theme; without it the first <svg> of the figure is taken as seen */
  svg?: (dark: boolean) => string;
  /** more entries of the export menu */
  exports?: readonly MenuItem[];
  /** name of downloaded files, without ending */
  file?: string;
  /** no frame and no padding of its own */
  bare?: boolean;
  className?: string;
  /** a table twin of its own in place of the plain one (the matrix has a windowed one) */
  twin?: () => ComponentChildren;
  children: ComponentChildren;
}

export function Figure(props: FigureProps) {
  const [asTable, setAsTable] = useState(false);
  const [asked, setAsked] = useState<boolean | null>(null);
  const inDark = asked ?? dark.value;
  const body = useRef<HTMLDivElement>(null);
  const file = props.file ?? props.title.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-+|-+$/g, "").toLowerCase();

  const drawing = (): string | null => {
    if (props.svg) return props.svg(inDark);
    const live = body.current?.querySelector<SVGSVGElement>("svg:not([aria-hidden=true])");
    return live ? serialise(live, props.title, inDark) : null;
  };
  const png = async (scale: number) => {
    const svg = drawing();
    if (svg) download(`${file}.png`, "image/png", await svgToPng(svg, scale));
  };
  const items: (MenuItem | null)[] = [
    ...[1, 2, 4].map((n) => ({ label: t("figure.png", { n }), disabled: asTable && !props.svg, onSelect: () => void png(n) })),
    { label: t("figure.svg"), disabled: asTable && !props.svg, onSelect: () => { const svg = drawing(); if (svg) download(`${file}.svg`, "image/svg+xml", svg); } },
    null,
    { label: t("figure.csv"), onSelect: () => download(`${file}.csv`, "text/csv", "\ufeff" + toCsv(props.table())) },
    { label: t("figure.tsv"), onSelect: () => download(`${file}.tsv`, "text/tab-separated-values", toCsv(props.table(), "\t")) },
    ...(props.exports?.length ? [null, ...props.exports] : []),
  ];
  const themes = <Segmented label={t("shell.theme_label")} value={inDark ? "dark" : "light"} choices={(["light", "dark"] as const).map((value) => ({ value, label: t(`shell.theme_${value}`) }))} onChange={(value) => setAsked(value === "dark")} />;
  const link = async () => {
    await copyText(permalink());
    toast(t("figure.link_copied"));
  };
  return (
    <figure class={`figure${props.bare ? " bare" : ""}${props.className ? ` ${props.className}` : ""}`} aria-label={props.title}>
      <div class="figure-head">
        <h2>{props.title}</h2>
        {props.tools}
        <div class="figure-tools">
          <IconButton tool="table" icon={asTable ? "attention" : "table"} label={asTable ? t("figure.picture") : t("figure.table")} pressed={asTable} onClick={() => setAsTable(!asTable)} />
          <IconButton tool="link" icon="link" label={t("figure.link")} onClick={() => void link()} />
          <Menu tool="export" className="btn quiet icon" name={t("figure.export")} items={items} before={themes} button={<Icon name="export" size={18} />} />
        </div>
      </div>
      <div ref={body}>{asTable ? (props.twin?.() ?? <Table data={props.table()} label={props.title} />) : props.children}</div>
      {props.caption && <figcaption class="figure-foot">{props.caption}</figcaption>}
    </figure>
  );
}
