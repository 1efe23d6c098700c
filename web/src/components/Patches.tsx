/** A picture as the model sees it: its patches as a grid, with a value of each as colour. */
import type { TracePicture } from "../api-types";
import { useName } from "../hooks";
import { t } from "../i18n";
import { css, entryOf, inkOn, type Scale } from "../lib/colour";
import { fixed, weight } from "../lib/format";
import { range } from "../lib/range";
import { dark } from "../state";
import { tableFor } from "./paint";

interface Props {
  name: string;
  image: TracePicture;
  /** one value per patch */
  values?: ArrayLike<number> | null;
  scale?: Scale;
  active?: number | null;
  locked?: number | null;
  /** without it the picture is only looked at */
  onActive?(patch: number | null): void;
  onLock?(patch: number | null): void;
  /** width at most, in pixels */
  size?: number;
}

export function Patches({ name, image, values, scale = {}, active = null, locked = null, onActive, onLock, size = 360 }: Props) {
  const id = useName("patch");
  const still = onActive === undefined;
  const { rows, columns } = image;
  const shown = active ?? locked;
  const table = tableFor(scale, dark.value);
  const roomy = size / columns >= 34;
  const onKeyDown = (event: KeyboardEvent) => {
    const last = rows * columns - 1;
    const at = shown ?? 0;
    const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[event.key];
    const to = by !== undefined ? (shown === null ? 0 : at + by) : { Home: 0, End: last }[event.key];
    if (to !== undefined) onActive?.(to < 0 || to > last ? at : to);
    else if ((event.key === "Enter" || event.key === " ") && shown !== null) onLock?.(locked === shown ? null : shown);
    else if (event.key === "Escape" && shown !== null) {
      onLock?.(null);
      onActive?.(null);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const place = (i: number) => t("figure.patch", { row: Math.floor(i / columns) + 1, column: (i % columns) + 1 });
  return (
    <div
      class={`patches${values ? " heated" : ""}${still ? " still" : ""}`}
      role={still ? "img" : "listbox"}
      tabIndex={still ? undefined : 0}
      aria-label={name}
      aria-activedescendant={still || shown === null ? undefined : `${id}-${shown}`}
      style={{ maxWidth: `${size}px`, gridTemplateColumns: `repeat(${columns}, 1fr)` }}
      onKeyDown={still ? undefined : onKeyDown}
      onPointerLeave={() => onActive?.(null)}
      onBlur={() => onActive?.(null)}
    >
      <img src={image.url} alt="" draggable={false} />
      {range(rows * columns).map((i) => {
        const value = values ? values[i] : null;
        const entry = value === null ? 0 : entryOf(value, scale);
        const text = value === null ? place(i) : `${place(i)}: ${fixed(value, 3)}`;
        return (
          <span
            key={i}
            id={`${id}-${i}`}
            role={still ? undefined : "option"}
            aria-selected={still ? undefined : i === shown}
            aria-label={still ? undefined : text}
            title={text}
            data-token={i}
            class={`patch${i === active ? " on" : ""}${i === locked ? " locked" : ""}`}
            onPointerEnter={() => onActive?.(i)}
            onClick={() => onLock?.(locked === i ? null : i)}
          >
            {value !== null && <i style={{ background: css(table, entry) }} />}
            {roomy && value !== null && <small style={{ color: inkOn(table, entry) }}>{weight(value)}</small>}
          </span>
        );
      })}
    </div>
  );
}
