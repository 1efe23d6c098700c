/** The frame around every picture: title, table twin, link, export. */
import type { ComponentChildren } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { download, serialise, svgToPng } from "../export";
import { locale, t } from "../i18n";
import { toCsv, type TableData } from "../lib/csv";
import { element } from "../lib/svg";
import { hashed } from "../local/site";
import { dark, params, permalink } from "../state";
import { copyText } from "./Commands";
import { Icon } from "./Icon";
import { Menu, type MenuItem } from "./Popover";
import { Table } from "./Table";
import { choices, IconButton, Segmented } from "./controls";
import { toast } from "./toasts";

export interface FigureProps {
  title: string;
  /** by which the address of the document finds it: its link then leads there, not to the view of the page */
  id?: string;
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
  /** it is words, so that no picture can be made of it */
  words?: boolean;
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
  const file =
    props.file ??
    props.title
      .replace(/[^\p{L}\p{N}]+/gu, "-")
      .replace(/^-+|-+$/g, "")
      .toLowerCase();

  // the tools read the props when they are used, so that a picture that follows the pointer leaves them alone
  const latest = useRef(props);
  latest.current = props;
  const tools = useMemo(() => {
    const now = () => latest.current;
    const save = (ending: string, type: string, data: string | Blob) => download(`${file}.${ending}`, type, data);
    const drawing = (): string | null => {
      const { svg, title } = now();
      if (svg) return svg(inDark);
      const live = body.current?.querySelector<SVGSVGElement>("svg:not([aria-hidden=true])");
      return live ? serialise(live, title, inDark) : null;
    };
    const draw = async (scale: number | null) => {
      const svg = drawing();
      if (svg && scale) save("png", "image/png", await svgToPng(svg, scale));
      else if (svg) save("svg", "image/svg+xml", svg);
    };
    const link = async () => {
      await copyText(now().id ? new URL(`#${now().id}`, location.href).href : permalink());
      toast(t("figure.link_copied"));
    };
    const exports = props.exports ?? [];
    // a served page may not be framed by others; one without a server, or a file, may
    const framed = (): MenuItem => ({
      label: t("teach.embed"),
      onSelect: () => {
        const frame = { src: permalink({ alone: file }), title: now().title, width: "100%", height: 480 };
        const code = element("iframe", frame, " "); // HTML wants an end tag
        void copyText(code).then(() => toast(t("shell.copied")));
      },
    });
    const disabled = asTable && !props.svg;
    const pictures: (MenuItem | null)[] = [
      ...[1, 2, 4].map((n) => ({ label: t("figure.png", { n }), disabled, onSelect: () => void draw(n) })),
      { label: t("figure.svg"), disabled, onSelect: () => void draw(null) },
      null,
    ];
    const items: (MenuItem | null)[] = [
      ...(props.words ? [] : pictures),
      { label: t("figure.csv"), onSelect: () => save("csv", "text/csv", "\ufeff" + toCsv(now().table())) },
      { label: t("figure.tsv"), onSelect: () => save("tsv", "text/tab-separated-values", toCsv(now().table(), "\t")) },
      ...(hashed && !now().id ? [framed()] : []),
      ...(exports.length > 0 ? [null] : []),
      ...exports.map((item, i) => ({ ...item, onSelect: () => (now().exports?.[i] ?? item).onSelect() })),
    ];
    const themes = (
      <Segmented
        label={t("shell.theme_label")}
        value={inDark ? "dark" : "light"}
        choices={choices(["light", "dark"], (value) => t(`shell.theme_${value}`))}
        onChange={(value) => setAsked(value === "dark")}
      />
    );
    return (
      <div class="figure-tools">
        <IconButton
          tool="table"
          icon={asTable ? "attention" : "table"}
          label={asTable ? t("figure.picture") : t("figure.table")}
          pressed={asTable}
          onClick={() => setAsTable(!asTable)}
        />
        <IconButton tool="link" icon="link" label={t("figure.link")} onClick={() => void link()} />
        <Menu
          tool="export"
          className="btn quiet icon"
          name={t("figure.export")}
          items={items}
          before={props.words ? null : themes}
          button={<Icon name="export" size={18} />}
        />
      </div>
    );
  }, [asTable, inDark, file, locale.value, props.svg === undefined, props.exports?.map((item) => item.label).join()]);
  return (
    <figure
      id={props.id}
      data-only={params.value.alone === file || undefined}
      class={`figure${props.bare ? " bare" : ""}${props.className ? ` ${props.className}` : ""}`}
      aria-label={props.title}
    >
      <div class="figure-head">
        <h2>{props.title}</h2>
        {props.tools}
        {tools}
      </div>
      <div ref={body}>{asTable ? (props.twin?.() ?? <Table data={props.table()} label={props.title} />) : props.children}</div>
      {props.caption && <figcaption class="figure-foot">{props.caption}</figcaption>}
    </figure>
  );
}
