/** Small controls: buttons with icons, segmented choices, tabs, switches, selects. */
import { KINDS } from "../lib/kinds";
import type { ComponentChildren, JSX } from "preact";
import type { Card, Kind } from "../api-types";
import { t } from "../i18n";
import { Icon, type IconName } from "./Icon";

export interface Choice<V extends string> {
  readonly value: V;
  readonly label: string;
  readonly disabled?: boolean;
  readonly title?: string;
}

/** A button with words in it. */
export const Button = ({ kind, ...rest }: JSX.IntrinsicElements["button"] & { kind?: "quiet" | "primary" }) => (
  <button type="button" class={kind ? `btn ${kind}` : "btn"} {...rest} />
);

export function IconButton(props: {
  icon: IconName;
  label: string;
  onClick(event: MouseEvent): void;
  pressed?: boolean;
  disabled?: boolean;
  size?: number;
  shortcut?: string;
  tool?: string;
}) {
  return (
    <button
      type="button"
      class="btn quiet icon"
      data-tool={props.tool}
      aria-label={props.label}
      title={props.label}
      aria-pressed={props.pressed}
      disabled={props.disabled}
      aria-keyshortcuts={props.shortcut}
      onClick={props.onClick}
    >
      <Icon name={props.icon} size={props.size ?? 18} />
    </button>
  );
}

/** Moves the choice with the arrow keys, as radio groups and tabs do. */
function onArrows<V extends string>(choices: readonly Choice<V>[], value: V, choose: (value: V) => void) {
  return (event: KeyboardEvent) => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    const open = choices.filter((choice) => !choice.disabled);
    const at = open.findIndex((choice) => choice.value === value);
    const next = open[(at + by + open.length) % open.length];
    const group = event.currentTarget as HTMLElement;
    choose(next.value);
    requestAnimationFrame(() => group.querySelector<HTMLElement>('[tabindex="0"]')?.focus());
  };
}

interface ChoiceProps<V extends string> {
  label: string;
  value: V;
  choices: readonly Choice<V>[];
  onChange(value: V): void;
}

/** Choices of some values, each named by `name`. */
export const choices = <const V extends string>(values: readonly V[], name: (value: V) => string): Choice<V>[] =>
  values.map((value) => ({ value, label: name(value) }));

/** One of a few values, all in sight. */
export const Segmented = <V extends string>(props: ChoiceProps<V>) => group("segmented", "radiogroup", "radio", "aria-checked", props);

/** Tabs over a panel; the panel is the caller's and should have role="tabpanel". */
export const Tabs = <V extends string>(props: ChoiceProps<V>) => group("tabs", "tablist", "tab", "aria-selected", props);

/** Scrolls what holds an element sideways, and nothing else, until it is seen. */
function intoView(node: HTMLElement | null): void {
  const box = node?.parentElement;
  if (!node || !box) return;
  const [left, right] = [node.offsetLeft - box.offsetLeft, node.offsetLeft - box.offsetLeft + node.offsetWidth];
  box.scrollLeft = Math.max(Math.min(box.scrollLeft, left), right - box.clientWidth);
}

function group<V extends string>(
  name: string,
  role: "radiogroup" | "tablist",
  one: "radio" | "tab",
  state: string,
  { label, value, choices, onChange }: ChoiceProps<V>,
) {
  return (
    <div class={name} role={role} aria-label={label} onKeyDown={onArrows(choices, value, onChange)}>
      {choices.map((choice) => {
        const on = choice.value === value;
        return (
          <button
            key={choice.value}
            type="button"
            role={one}
            {...{ [state]: on }}
            ref={on ? intoView : null}
            tabIndex={on ? 0 : -1}
            disabled={choice.disabled}
            title={choice.title}
            onClick={() => onChange(choice.value)}
          >
            {choice.label}
          </button>
        );
      })}
    </div>
  );
}

export function Switch(props: { label: string; on: boolean; onChange(on: boolean): void; disabled?: boolean }) {
  return (
    <button
      type="button"
      class="switch"
      role="switch"
      aria-checked={props.on}
      disabled={props.disabled}
      onClick={() => props.onChange(!props.on)}
    >
      <i aria-hidden="true" />
      {props.label}
    </button>
  );
}

/** One of many values, behind the browser's own list; `label` is shown before it unless `bare`. */
export function Select<V extends string>(props: ChoiceProps<V> & { bare?: boolean; disabled?: boolean }) {
  const select = (
    <select
      class="select"
      aria-label={props.bare ? props.label : undefined}
      value={props.value}
      disabled={props.disabled}
      onChange={(event) => props.onChange(event.currentTarget.value as V)}
    >
      {props.choices.map((choice) => (
        <option key={choice.value} value={choice.value} disabled={choice.disabled} selected={choice.value === props.value}>
          {choice.label}
        </option>
      ))}
    </select>
  );
  if (props.bare) return select;
  return (
    <label class="field">
      {props.label}
      {select}
    </label>
  );
}

export function Badge({ tone, children }: { tone?: "warn" | "bad"; children: ComponentChildren }) {
  return <span class={tone ? `badge ${tone}` : "badge"}>{children}</span>;
}

/** The kinds of attention as choices; those that the model lacks are barred and say so. Few models copy, so others do not speak of it. */
export const kindChoices = (kinds: Card["kinds"]): Choice<Kind>[] =>
  KINDS.filter((value) => value !== "copy" || kinds.copy).map((value) => ({
    value,
    label: t(`attention.kind_${value}`),
    disabled: !kinds[value],
    title: kinds[value] ? undefined : t("attention.kind_missing"),
  }));
