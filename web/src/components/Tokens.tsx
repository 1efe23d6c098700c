/** A strip of tokens: one tab stop, arrows as seen, background by intensity, a bar for confidence, byte groups that open. */
import { useEffect, useRef, useState } from "preact/hooks";
import { t } from "../i18n";
import { arrow } from "../lib/bidi";
import { css, entryOf, inkOn, type Scale } from "../lib/colour";
import { fixed, percent } from "../lib/format";
import { beginsWithSpace, unitsOf, type Unit } from "../lib/tokens";
import type { TraceSide, TraceToken } from "../api-types";
import { useName } from "../hooks";
import { dark } from "../state";
import { tableFor } from "./paint";

export interface TokensProps {
  name: string;
  side: Pick<TraceSide, "lang" | "dir"> & { readonly tokens: readonly TraceToken[] };
  /** index of the marked token */
  active?: number | null;
  locked?: number | null;
  onActive?(token: number | null): void;
  onLock?(token: number | null): void;
  /** one value per token, drawn as background and as a number; summed over byte groups */
  values?: ArrayLike<number> | null;
  scale?: Scale;
  /** probability of each token, drawn as a bar under it */
  confidence?: ArrayLike<number> | null;
  /** rank that decides whether a number is shown: values under it show none */
  least?: number;
  /** tokens from here on may still change */
  stable?: number;
  onKeyDown?(event: KeyboardEvent): void;
}

export function Tokens(props: TokensProps) {
  const { side } = props;
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  const id = useName("token");
  const strip = useRef<HTMLDivElement>(null);
  const units = unitsOf(side.tokens, open);
  const shown = props.active ?? props.locked ?? null;
  const at = units.findIndex((unit) => shown !== null && unit.tokens.includes(shown));

  useEffect(() => {
    if (at >= 0 && document.activeElement === strip.current)
      strip.current?.children[at]?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [at]);

  const onKeyDown = (event: KeyboardEvent) => {
    props.onKeyDown?.(event);
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key] as -1 | 1 | undefined;
    const to = by ? (at < 0 ? 0 : arrow(at, by, units.length, side.dir)) : { Home: 0, End: units.length - 1 }[event.key];
    if (to !== undefined) props.onActive?.(units[to]?.tokens[0] ?? null);
    else if ((event.key === "Enter" || event.key === " ") && shown !== null) props.onLock?.(props.locked === shown ? null : shown);
    else if (event.key === "Escape" && (props.locked ?? props.active ?? null) !== null) {
      props.onLock?.(null);
      props.onActive?.(null);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const click = (unit: Unit) => {
    const token = side.tokens[unit.tokens[0]];
    if (unit.bytes > 1 && token.group !== undefined) setOpen(new Set([...open, token.group]));
    else props.onLock?.(props.locked !== null && props.locked !== undefined && unit.tokens.includes(props.locked) ? null : unit.tokens[0]);
  };
  return (
    <div
      class="tokens"
      ref={strip}
      dir={side.dir}
      role="listbox"
      tabIndex={0}
      aria-label={props.name}
      aria-orientation="horizontal"
      aria-activedescendant={at >= 0 ? `${id}-${at}` : undefined}
      onKeyDown={onKeyDown}
      onPointerLeave={() => props.onActive?.(null)}
      onBlur={() => props.onActive?.(null)}
    >
      {units.map((unit, u) => (
        <Box key={u} id={`${id}-${u}`} unit={unit} props={props} on={u === at} click={() => click(unit)} />
      ))}
    </div>
  );
}

const Space = () => (
  <span class="space" aria-hidden="true">
    ␣
  </span>
);

/** A token of the vocabulary: with a faint mark where it begins with a space, so that " 2" and "2" look different. */
export const Piece = ({ text, piece = text }: { text: string; piece?: string }) => (
  <>
    {beginsWithSpace(piece) && text.trim() !== "" && text !== "␣" && <Space />}
    {text.trim() || "␣"}
  </>
);

function Box({ id, unit, props, on, click }: { id: string; unit: Unit; props: TokensProps; on: boolean; click(): void }) {
  const isDark = dark.value;
  const scale = props.scale ?? {};
  const value = props.values ? unit.tokens.reduce((sum, i) => sum + (props.values![i] ?? 0), 0) : null;
  const table = tableFor(scale, isDark);
  const entry = value === null ? 0 : entryOf(value, scale);
  const filled = value !== null && (scale.signed ? Math.abs(entry - 127.5) > 4 : entry > 4);
  const sure = props.confidence
    ? Math.exp(unit.tokens.reduce((sum, i) => sum + Math.log(Math.max(1e-12, props.confidence![i] ?? 1)), 0))
    : null;
  const classes = [
    "token",
    unit.special && "special",
    unit.unknown && "unknown",
    on && "on",
    props.locked !== null && props.locked !== undefined && unit.tokens.includes(props.locked) && "locked",
    props.stable !== undefined && unit.tokens[0] >= props.stable && "loose",
  ];
  return (
    <span
      id={id}
      role="option"
      aria-selected={on}
      class={classes.filter(Boolean).join(" ")}
      data-token={unit.tokens[0]}
      onPointerEnter={() => props.onActive?.(unit.tokens[0])}
      onClick={click}
      title={sure === null ? undefined : percent(sure)}
    >
      <span
        class="token-text"
        lang={props.side.lang}
        dir={unit.special ? "ltr" : props.side.dir}
        style={filled ? { background: css(table, entry), color: inkOn(table, entry) } : undefined}
      >
        {unit.space && <Space />}
        {unit.text}
        {unit.bytes > 1 && <small>{t("figure.bytes", { n: unit.bytes })}</small>}
      </span>
      {sure !== null && (
        <span class="sure" aria-hidden="true">
          <i style={{ width: `${Math.round(sure * 100)}%` }} />
        </span>
      )}
      <span class={sure === null ? "token-value" : "token-value below"}>
        {value !== null && Math.abs(value) >= (props.least ?? 0.005) ? fixed(value, 2) : ""}
      </span>
    </span>
  );
}
