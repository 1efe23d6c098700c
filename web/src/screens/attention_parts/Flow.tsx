/** The same weights as flow: queries at the left, keys at the right, the five strongest links of every row as curves. */
import type { Cell } from "../../components/Heatmap";
import { useSize } from "../../hooks";
import { shorten } from "../../lib/labels";
import { largest, row } from "../../lib/matrix";
import type { Picture } from "./view";

const LINE = 26;
const LINKS = 5;

interface FlowProps {
  picture: Picture;
  name: string;
  active: Cell | null;
  onActive(cell: Cell | null): void;
  onLock(cell: Cell | null): void;
}

export function Flow({ picture, name, active, onActive, onLock }: FlowProps) {
  const [frame, size] = useSize<HTMLDivElement>();
  const { matrix: m, rows, cols } = picture;
  const width = Math.max(240, Math.min(size.width, 640));
  const side = Math.min(130, width * 0.3);
  const height = Math.max(m.rows, m.cols) * LINE + 8;
  const y = (i: number, count: number) => (i + 0.5) * (count < Math.max(m.rows, m.cols) ? (height - 8) / count : LINE) + 4;
  const [x0, x1] = [side, width - side];
  const middle = (x0 + x1) / 2;
  const links = rows
    .flatMap((_, r) => largest(row(m, r), LINKS).map((c) => ({ r, c, w: m.data[r * m.cols + c] })))
    .filter((link) => link.w > 0.01);
  const move = (event: KeyboardEvent) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const at = Math.max(0, Math.min(m.rows - 1, (active?.row ?? (by > 0 ? -1 : m.rows)) + by));
    onActive({ row: at, col: largest(row(m, at), 1)[0] });
  };
  return (
    <div ref={frame} class="flow" tabIndex={0} role="group" aria-label={name} onKeyDown={move} onPointerLeave={() => onActive(null)}>
      <svg width={width} height={height} role="img" aria-label={name}>
        {links.map(({ r, c, w }) => (
          <path
            key={`${r}.${c}`}
            d={`M${x0} ${y(r, m.rows)}C${middle} ${y(r, m.rows)} ${middle} ${y(c, m.cols)} ${x1} ${y(c, m.cols)}`}
            stroke-width={0.8 + 7 * w}
            stroke-opacity={active ? (active.row === r ? 0.3 + 0.65 * w : 0.04) : 0.08 + 0.55 * w}
          />
        ))}
        {rows.map((label, r) => (
          <g
            key={r}
            onPointerEnter={() => onActive({ row: r, col: largest(row(m, r), 1)[0] })}
            onClick={() => onLock({ row: r, col: largest(row(m, r), 1)[0] })}
          >
            <rect class="hit" x={0} y={y(r, m.rows) - LINE / 2} width={x0} height={LINE} />
            <text
              class={active?.row === r ? "on" : label.dim ? "dim" : undefined}
              x={x0 - 8}
              y={y(r, m.rows)}
              text-anchor="end"
              dominant-baseline="central"
              lang={label.lang}
            >
              {shorten(label.text, 14)}
            </text>
          </g>
        ))}
        {cols.map((label, c) => (
          <text
            key={c}
            class={active && m.data[active.row * m.cols + c] > 0.1 ? "on" : label.dim ? "dim" : undefined}
            x={x1 + 8}
            y={y(c, m.cols)}
            dominant-baseline="central"
            lang={label.lang}
          >
            {shorten(label.text, 14)}
          </text>
        ))}
      </svg>
    </div>
  );
}
