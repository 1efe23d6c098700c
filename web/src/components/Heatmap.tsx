/** A matrix as colour: canvas for the cells, a light SVG layer for labels and cross-hair, one tab stop, a live region. */
import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { useName, useSize } from "../hooks";
import { t } from "../i18n";
import { css, type Scale } from "../lib/colour";
import { number, weight } from "../lib/format";
import { labelOf, layoutOf, panned, reveal, zoomed, type Label, type Layout, type Placed, type View } from "../lib/heatmap";
import { pick, rank, row as rowOf, type Matrix } from "../lib/matrix";
import { range } from "../lib/range";
import { dark } from "../state";
import { IconButton } from "./controls";
import { figures, forScreen, gaps, pixels, prepare, tableFor } from "./paint";

export interface Cell {
  readonly row: number;
  readonly col: number;
}

export interface HeatmapProps {
  /** accessible name, e.g. "cross attention, layer 3 head 2" */
  name: string;
  matrix: Matrix;
  rows: readonly (Label | string)[];
  cols: readonly (Label | string)[];
  /** default: sequential, linear, 0…1 */
  scale?: Scale;
  /** 1 = allowed; forbidden cells are hatched */
  mask?: ArrayLike<number>;
  /** text of a number inside a cell (default: weights, two decimals) */
  format?(value: number): string;
  /** what the live region says of a cell (default: labels, value, rank in its row) */
  describe?(cell: Cell): string;
  /** cell under the pointer or keyboard, when the caller wants to share or keep it; else it is the heatmap's own */
  active?: Cell | null;
  onActive?(cell: Cell | null): void;
  locked?: Cell | null;
  onLock?(cell: Cell | null): void;
  /** cells that are crossed out, such as heads that are silenced */
  crossed?: readonly Cell[];
  /** PageUp, PageDown and [ ] in a grid of heads */
  onLayer?(by: -1 | 1): void;
  onHead?(by: -1 | 1): void;
  /** the columns run from right to left */
  rtl?: boolean;
  /** largest cell in pixels (default 44) and height of the cells together (default 620) */
  maxCell?: number;
  maxHeight?: number;
  /** cells need not be square: rows fill the height, columns the width */
  free?: boolean;
  /** a bar at the right of each row, e.g. the folded share of special tokens */
  margin?: { readonly label: string; readonly values: ArrayLike<number> };
}

const MARGIN = 56;

export function Heatmap(props: HeatmapProps) {
  const { matrix, scale = {}, maxCell = 44, maxHeight = 620 } = props;
  const rows = useMemo(() => props.rows.map(labelOf), [props.rows]);
  const cols = useMemo(() => props.cols.map(labelOf), [props.cols]);
  const [frame, size] = useSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [ownActive, setOwnActive] = useState<Cell | null>(null);
  const [ownLocked, setOwnLocked] = useState<Cell | null>(null);
  const [said, setSaid] = useState("");
  const [view, setView] = useState<View | null>(null);
  const drag = useRef<{ x: number; y: number; view: View; moved: boolean } | null>(null);
  const id = useName("cell");

  const total = { rows: matrix.rows, cols: matrix.cols };
  useEffect(() => setView(null), [matrix.rows, matrix.cols]);
  const whole: View = { r0: 0, c0: 0, rows: matrix.rows, cols: matrix.cols };
  const seen = view && view.rows <= matrix.rows && view.cols <= matrix.cols ? view : whole;
  const inside = (cell: Cell | null | undefined) =>
    cell && cell.row >= 0 && cell.col >= 0 && cell.row < matrix.rows && cell.col < matrix.cols ? cell : null;
  const active = inside(props.onActive ? props.active : ownActive);
  const locked = inside(props.onLock ? props.locked : ownLocked);
  const shown = active ?? locked;
  const setActive = props.onActive ?? setOwnActive;
  const setLocked = props.onLock ?? setOwnLocked;

  const part = seen === whole || (seen.rows === matrix.rows && seen.cols === matrix.cols) ? null : seen;
  const window_ = useMemo(() => {
    if (!part) return { m: matrix, mask: props.mask, rows, cols };
    const rs = range(part.rows, part.r0);
    const cs = range(part.cols, part.c0);
    const mask = props.mask && rs.flatMap((r) => cs.map((c) => props.mask![r * matrix.cols + c]));
    return { m: pick(matrix, rs, cs), mask, rows: rs.map((r) => rows[r]), cols: cs.map((c) => cols[c]) };
  }, [matrix, props.mask, rows, cols, part?.r0, part?.c0, part?.rows, part?.cols]);

  const local = shown && { row: shown.row - seen.r0, col: shown.col - seen.c0 };
  const room = {
    rows: window_.rows,
    cols: window_.cols,
    width: size.width || 480,
    maxCell,
    maxHeight,
    rtl: props.rtl,
    free: props.free,
    margin: props.margin ? MARGIN : 0,
  };
  const still = useMemo(() => layoutOf(room), [window_, room.width, maxCell, maxHeight, props.rtl, props.free, room.margin]);
  // only where labels are left out does the pointer change which are drawn
  const full = still.rowLabels.length === window_.rows.length && still.colLabels.length === window_.cols.length;
  const layout = full || !local ? still : layoutOf({ ...room, row: local.row, col: local.col });
  const order = (c: number) => (props.rtl ? window_.m.cols - 1 - c : c);
  const isDark = dark.value;
  const { cellWidth, cellHeight, left, top } = layout;
  const [width, height] = [cellWidth * window_.m.cols, cellHeight * window_.m.rows];
  const image = useMemo(() => {
    const small = window_.mask ? window_.m : forScreen(window_.m, width, height);
    return pixels(small, scale, isDark, window_.mask);
  }, [window_, scale.sqrt, scale.signed, scale.max, isDark, Math.min(width, window_.m.cols), Math.min(height, window_.m.rows)]);

  // the cross-hair is not part of the canvas, so a moving pointer does not repaint it
  useLayoutEffect(() => {
    if (!canvas.current || size.width === 0) return;
    const extra = props.margin ? MARGIN : 0;
    const context = prepare(canvas.current, width + extra, height);
    const style = getComputedStyle(canvas.current);
    context.save();
    if (props.rtl) {
      context.translate(width, 0);
      context.scale(-1, 1);
    }
    context.drawImage(image, 0, 0, width, height);
    context.restore();
    const box = { x: 0, y: 0, width, height };
    context.fillStyle = style.color;
    context.globalAlpha = 0.62;
    window_.cols.forEach((label, c) => label.dim && context.fillRect(order(c) * cellWidth, 0, cellWidth, height));
    window_.rows.forEach((label, r) => label.dim && context.fillRect(0, r * cellHeight, width, cellHeight));
    context.globalAlpha = 1;
    gaps(context, box, window_.m.rows, window_.m.cols, style.color);
    figures(
      context,
      box,
      window_.m,
      scale,
      isDark,
      props.format ?? weight,
      order,
      window_.mask,
      (r, c) => (window_.rows[r].dim || window_.cols[c].dim) ?? false,
      style.outlineColor,
    );
    if (props.margin) {
      context.fillStyle = css(tableFor({}, isDark), isDark ? 150 : 120);
      for (let r = 0; r < window_.m.rows; r++) {
        const share = Math.max(0, Math.min(1, props.margin.values[seen.r0 + r]));
        context.fillRect(
          width + 10,
          r * cellHeight + cellHeight / 2 - Math.min(4, cellHeight / 3),
          share * (MARGIN - 12),
          Math.min(8, (cellHeight * 2) / 3),
        );
      }
    }
  }, [image, window_, width, height, isDark, props.rtl, props.margin?.values, props.format, size.width > 0]);

  const at = (event: PointerEvent | WheelEvent): Cell | null => {
    const box = canvas.current!.getBoundingClientRect();
    const c = Math.floor((event.clientX - box.left) / cellWidth);
    const r = Math.floor((event.clientY - box.top) / cellHeight);
    if (r < 0 || c < 0 || r >= window_.m.rows || c >= window_.m.cols) return null;
    return { row: seen.r0 + r, col: seen.c0 + order(c) };
  };
  const allowed = (cell: Cell) => props.mask?.[cell.row * matrix.cols + cell.col] !== 0;
  const describe = (cell: Cell): string =>
    props.describe?.(cell) ??
    t("figure.cell", {
      row: rows[cell.row].text,
      col: cols[cell.col].text,
      value: allowed(cell) ? number(matrix.data[cell.row * matrix.cols + cell.col]) : t("figure.masked"),
      rank: rank(rowOf(matrix, cell.row), cell.col),
      n: matrix.cols,
    });
  const move = (cell: Cell) => {
    if (part) setView(reveal(seen, total, cell));
    setActive(cell);
    setSaid(describe(cell));
  };

  const onKeyDown = (event: KeyboardEvent) => {
    const from = shown ?? { row: 0, col: 0 };
    const next = nextCell(event, from, matrix, props.rtl ?? false);
    const head = { "[": -1, "]": 1 }[event.key] as -1 | 1 | undefined;
    const layer = { PageUp: -1, PageDown: 1 }[event.key] as -1 | 1 | undefined;
    if (next) move(next);
    else if (head && props.onHead) props.onHead(head);
    else if (layer && props.onLayer) props.onLayer(layer);
    else if (event.key === "Enter" || event.key === " ")
      setLocked(locked && locked.row === from.row && locked.col === from.col ? null : from);
    else if (event.key === "Escape" && (locked || active)) {
      setLocked(null);
      setActive(null);
    } else if (event.key === "+" || event.key === "=") setView(zoomed(seen, total, from, 0.7));
    else if (event.key === "-") setView(zoomed(seen, total, from, 1.4));
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const onPointerMove = (event: PointerEvent) => {
    const d = drag.current;
    if (d && part && (Math.abs(event.clientX - d.x) > 3 || Math.abs(event.clientY - d.y) > 3 || d.moved)) {
      d.moved = true;
      const sign = props.rtl ? 1 : -1;
      setView(panned(d.view, total, -Math.round((event.clientY - d.y) / cellHeight), sign * Math.round((event.clientX - d.x) / cellWidth)));
      return;
    }
    const cell = at(event);
    if (cell?.row !== active?.row || cell?.col !== active?.col) setActive(cell);
  };
  const onWheel = (event: WheelEvent) => {
    const cell = at(event);
    if (!cell || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    setView(zoomed(seen, total, cell, event.deltaY < 0 ? 0.85 : 1.18));
  };

  return (
    <div class="heatmap" ref={frame}>
      <div
        class="heatmap-grid"
        role="grid"
        tabIndex={0}
        aria-label={props.name}
        aria-rowcount={matrix.rows}
        aria-colcount={matrix.cols}
        aria-activedescendant={shown ? id : undefined}
        style={{ width: `${layout.width}px`, height: `${layout.height}px` }}
        onKeyDown={onKeyDown}
        onFocus={() => !shown && setSaid(t("figure.grid_help"))}
        onBlur={() => {
          setSaid("");
          if (props.onActive === undefined) setOwnActive(null);
        }}
        onPointerMove={onPointerMove}
        onPointerLeave={() => {
          drag.current = null;
          setActive(null);
        }}
        onPointerDown={(event) => (drag.current = { x: event.clientX, y: event.clientY, view: seen, moved: false })}
        onPointerUp={(event) => {
          const moved = drag.current?.moved;
          drag.current = null;
          const cell = at(event);
          if (cell && !moved) setLocked(locked && locked.row === cell.row && locked.col === cell.col ? null : cell);
        }}
        onWheel={onWheel}
      >
        <div class="heatmap-hatch" style={{ left: `${left}px`, top: `${top}px`, width: `${width}px`, height: `${height}px` }} />
        <canvas ref={canvas} style={{ left: `${left}px`, top: `${top}px` }} aria-hidden="true" />
        <Overlay
          layout={layout}
          cell={local}
          locked={locked !== null && active === null}
          rtl={props.rtl ?? false}
          rows={window_.m.rows}
          cols={window_.m.cols}
          margin={props.margin?.label}
          crossed={(props.crossed ?? []).map(({ row, col }) => ({ row: row - seen.r0, col: col - seen.c0 }))}
        />
        <div class="sr" role="row" aria-rowindex={(shown?.row ?? 0) + 1}>
          <span role="gridcell" id={id} aria-colindex={(shown?.col ?? 0) + 1} aria-selected={locked !== null}>
            {shown ? describe(shown) : ""}
          </span>
        </div>
      </div>
      {(part || cellWidth < 9) && (
        <div class="heatmap-zoom">
          <IconButton
            icon="plus"
            label={t("figure.zoom_in")}
            onClick={() => setView(zoomed(seen, total, shown ?? { row: seen.r0 + (seen.rows >> 1), col: seen.c0 + (seen.cols >> 1) }, 0.6))}
          />
          <IconButton icon="minus" label={t("figure.zoom_out")} disabled={!part} onClick={() => setView(null)} />
        </div>
      )}
      <div class="sr" role="status" aria-live="polite">
        {said}
      </div>
    </div>
  );
}

/** The cell a key leads to, or null for other keys. */
function nextCell(event: KeyboardEvent, from: Cell, m: Matrix, rtl: boolean): Cell | null {
  const clamp = (cell: Cell): Cell => ({
    row: Math.max(0, Math.min(m.rows - 1, cell.row)),
    col: Math.max(0, Math.min(m.cols - 1, cell.col)),
  });
  const ahead = rtl ? -1 : 1;
  switch (event.key) {
    case "ArrowRight":
      return clamp({ row: from.row, col: from.col + ahead });
    case "ArrowLeft":
      return clamp({ row: from.row, col: from.col - ahead });
    case "ArrowDown":
      return clamp({ row: from.row + 1, col: from.col });
    case "ArrowUp":
      return clamp({ row: from.row - 1, col: from.col });
    case "Home":
      return clamp({ row: event.ctrlKey ? 0 : from.row, col: 0 });
    case "End":
      return clamp({ row: event.ctrlKey ? m.rows : from.row, col: m.cols });
    default:
      return null;
  }
}

interface OverlayProps {
  layout: Layout;
  cell: Cell | null;
  locked: boolean;
  rtl: boolean;
  rows: number;
  cols: number;
  margin?: string;
  crossed: readonly Cell[];
}

function Overlay({ layout, cell, locked, rtl, rows, cols, margin, crossed }: OverlayProps) {
  const { left, top, cellWidth, cellHeight } = layout;
  const seen = cell && cell.row >= 0 && cell.col >= 0 && cell.row < rows && cell.col < cols;
  const x = seen ? left + (rtl ? cols - 1 - cell.col : cell.col) * cellWidth : 0;
  const y = seen ? top + cell.row * cellHeight : 0;
  return (
    <svg width={layout.width} height={layout.height} aria-hidden="true">
      <Labels of={layout.rowLabels} as={RowLabel} on={cell?.row} />
      <Labels of={layout.colLabels} as={ColLabel} on={cell?.col} />
      {margin && (
        <text class="dim" x={left + cols * cellWidth + 10} y={top - 8}>
          {margin}
        </text>
      )}
      {crossed
        .filter((one) => one.row >= 0 && one.col >= 0 && one.row < rows && one.col < cols)
        .map((one) => (
          <path
            key={`${one.row} ${one.col}`}
            class="crossed"
            d={`M${left + (rtl ? cols - 1 - one.col : one.col) * cellWidth + 2} ${top + (one.row + 1) * cellHeight - 2}l${cellWidth - 4} ${4 - cellHeight}`}
          />
        ))}
      {seen && (
        <>
          <rect class="band" x={left - 0.5} y={y} width={cols * cellWidth + 1} height={cellHeight} />
          <rect class="band" x={x} y={top - 0.5} width={cellWidth} height={rows * cellHeight + 1} />
          <rect class={locked ? "cell locked" : "cell"} x={x - 0.5} y={y - 0.5} width={cellWidth + 1} height={cellHeight + 1} rx={1.5} />
        </>
      )}
    </svg>
  );
}

interface LabelProps {
  label: Placed;
  on: boolean;
}

/** All labels of a side. Those of the last drawing stand in again, so that a moving pointer redraws two of them and not all. */
function Labels({ of, as: As, on }: { of: readonly Placed[]; as(props: LabelProps): VNode; on?: number }) {
  const plain = useMemo(() => of.map((label) => <As key={label.index} label={label} on={false} />), [of]);
  return <>{of.map((label, i) => (label.index === on ? <As key={on} label={label} on /> : plain[i]))}</>;
}

function RowLabel({ label, on }: LabelProps) {
  return (
    <text class={classOf(label, on)} x={label.x} y={label.y} text-anchor="end" dominant-baseline="central" lang={label.lang}>
      {label.text}
      {label.text !== label.full && <title>{label.full}</title>}
    </text>
  );
}

function ColLabel({ label, on }: LabelProps) {
  if (label.mode === "upright")
    return (
      <text class={classOf(label, on)} text-anchor="middle" lang={label.lang}>
        {label.parts.map((part, i) => (
          <tspan key={i} x={label.x} y={label.y - (label.parts.length - 1 - i) * 13.5}>
            {part}
          </tspan>
        ))}
      </text>
    );
  const turn = label.mode === "rotated" ? `translate(${label.x + 4} ${label.y}) rotate(-60)` : `translate(${label.x} ${label.y})`;
  return (
    <text class={classOf(label, on)} transform={turn} text-anchor={label.mode === "rotated" ? "start" : "middle"} lang={label.lang}>
      {label.text}
    </text>
  );
}

const classOf = (label: Placed, on: boolean) => (on ? "on" : label.dim ? "dim" : undefined);
