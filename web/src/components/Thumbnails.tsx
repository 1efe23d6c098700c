/** The grid of heads: every head of a kind as a small picture on one canvas, layers down, heads across. */
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { useName, useSize } from "../hooks";
import { t } from "../i18n";
import { css, type Scale } from "../lib/colour";
import { stack, type Matrix } from "../lib/matrix";
import { dark } from "../state";
import { forScreen, pixels, prepare, tableFor } from "./paint";

export interface Thumb {
  readonly key: string;
  /** place in the grid, both from 0; virtual heads follow the real ones in their row */
  readonly row: number;
  readonly col: number;
  /** what a screen reader says */
  readonly name: string;
  readonly matrix: Matrix;
  /** a value that colours the whole square instead of its weights (sweep) */
  readonly value?: number;
  /** small text in the corner, when the columns do not tell the head */
  readonly badge?: string;
  /** what interventions do to the head */
  readonly edit?: "silenced" | "changed" | null;
  /** whether its corner silences it */
  readonly silences?: boolean;
}
interface Props {
  name: string;
  thumbs: readonly Thumb[];
  rows: readonly string[];
  cols: readonly string[];
  selected: readonly string[];
  /** `add`: with Shift or Ctrl, to select several */
  onSelect(key: string, add: boolean): void;
  /** silences a head or brings it back: its corner, and the key `s` */
  onSilence?(key: string): void;
  scale: Scale;
  /** scale of `value` */
  valueScale?: Scale;
  /** cell marked in every square */
  marker?: { readonly row: number; readonly col: number } | null;
  /** keys run from right to left */
  rtl?: boolean;
  /** columns from here on are set apart: virtual heads */
  apart?: number;
}

const HEAD = 22;
const GAP = 4;

const onCorner = (event: MouseEvent) => event.target instanceof Element && event.target.closest("[data-silence]") !== null;

export function Thumbnails(props: Props) {
  const [frame, size] = useSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const id = useName("head");
  const isDark = dark.value;
  const { thumbs, rows, cols, scale } = props;
  const first = thumbs[0]?.matrix;
  const ratio = first ? Math.max(0.6, Math.min(1.6, first.rows / Math.max(1, first.cols))) : 1;
  const left = 30;
  const gapApart = props.apart !== undefined ? 10 : 0;
  const width = Math.max(14, Math.min(72, Math.floor((size.width - left - gapApart) / Math.max(1, cols.length)) - GAP));
  const height = Math.round(width * ratio);
  const x = (col: number) => left + col * (width + GAP) + (props.apart !== undefined && col >= props.apart ? gapApart : 0);
  const y = (row: number) => HEAD + row * (height + GAP);
  // one off-screen picture of all squares, under each other
  const sheet = useMemo(
    () => pixels(stack(thumbs.map((thumb) => forScreen(thumb.matrix, width, height))), scale, isDark),
    [thumbs, scale.sqrt, scale.max, isDark, width],
  );
  const total = { width: x(cols.length) + 2, height: y(rows.length) };

  useLayoutEffect(() => {
    if (!canvas.current || size.width === 0) return;
    const context = prepare(canvas.current, total.width, total.height);
    const each = sheet.height / thumbs.length;
    context.strokeStyle = getComputedStyle(canvas.current).borderTopColor;
    thumbs.forEach((thumb, i) => {
      const [left, top] = [x(thumb.col), y(thumb.row)];
      if (thumb.value !== undefined) {
        context.fillStyle = css(
          tableFor(props.valueScale ?? {}, isDark),
          127.5 + 127.5 * Math.max(-1, Math.min(1, thumb.value / (props.valueScale?.max ?? 1))),
        );
        context.fillRect(left, top, width, height);
      } else {
        context.save();
        context.translate(props.rtl ? left + width : left, top);
        context.scale(props.rtl ? -1 : 1, 1);
        context.drawImage(sheet, 0, i * each, sheet.width, each, 0, 0, width, height);
        context.restore();
      }
      context.strokeRect(left + 0.5, top + 0.5, width - 1, height - 1);
    });
  }, [sheet, props.rtl, props.valueScale?.max, size.width > 0]);

  // the marked cell is not part of the canvas, so a moving pointer does not repaint it
  const marks = (at: { row: number; col: number }) =>
    thumbs
      .map(({ row, col, matrix: m }) => {
        const [w, h] = [width / m.cols, height / m.rows];
        return `M${x(col) + (props.rtl ? m.cols - 1 - at.col : at.col) * w} ${y(row) + at.row * h}h${Math.max(2, w)}v${Math.max(2, h)}h${-Math.max(2, w)}z`;
      })
      .join("");
  const focus = thumbs.find((thumb) => thumb.key === props.selected[props.selected.length - 1]) ?? thumbs[0];
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "s" && focus?.silences && props.onSilence) {
      event.preventDefault();
      event.stopPropagation();
      return props.onSilence(focus.key);
    }
    const by = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
    if (!by || !focus) return;
    event.preventDefault();
    event.stopPropagation();
    const next = thumbs.find((thumb) => thumb.row === focus.row + by[0] && thumb.col === focus.col + by[1]);
    if (next) props.onSelect(next.key, event.shiftKey);
  };
  const hit = (event: MouseEvent): Thumb | undefined => {
    const box = canvas.current!.getBoundingClientRect();
    const [px, py] = [event.clientX - box.left, event.clientY - box.top];
    return thumbs.find((thumb) => px >= x(thumb.col) && px < x(thumb.col) + width && py >= y(thumb.row) && py < y(thumb.row) + height);
  };
  return (
    <div ref={frame} class="thumbs">
      <div
        class="thumbs-grid"
        role="listbox"
        aria-multiselectable="true"
        tabIndex={0}
        aria-label={props.name}
        aria-activedescendant={focus ? `${id}-${focus.key}` : undefined}
        style={{ width: `${total.width}px`, height: `${total.height}px` }}
        onKeyDown={onKeyDown}
        onClick={(event) => {
          const thumb = hit(event);
          if (thumb && onCorner(event)) props.onSilence?.(thumb.key);
          else if (thumb) props.onSelect(thumb.key, event.shiftKey || event.ctrlKey || event.metaKey);
        }}
      >
        <canvas ref={canvas} aria-hidden="true" />
        <svg width={total.width} height={total.height} aria-hidden="true">
          {props.marker && first && thumbs[0].value === undefined && <path d={marks(props.marker)} />}
          {cols.map((text, c) => (
            <text key={c} x={x(c) + width / 2} y={14} text-anchor="middle">
              {text}
            </text>
          ))}
          {rows.map((text, r) => (
            <text key={r} x={left - 8} y={y(r) + height / 2} text-anchor="end" dominant-baseline="central">
              {text}
            </text>
          ))}
        </svg>
        {thumbs.map((thumb) => (
          <span
            key={thumb.key}
            id={`${id}-${thumb.key}`}
            role="option"
            aria-label={thumb.name}
            aria-selected={props.selected.includes(thumb.key)}
            class={["thumb", props.selected.includes(thumb.key) && "on", thumb.edit].filter(Boolean).join(" ")}
            title={thumb.name}
            style={{ left: `${x(thumb.col)}px`, top: `${y(thumb.row)}px`, width: `${width}px`, height: `${height}px` }}
          >
            {thumb.badge && <small aria-hidden="true">{thumb.badge}</small>}
            {thumb.silences && props.onSilence && (
              <i data-silence aria-hidden="true">
                {thumb.edit === "silenced" ? "↺" : "✕"}
              </i>
            )}
          </span>
        ))}
      </div>
      <span class="sr">{t("figure.grid_help")}</span>
    </div>
  );
}
