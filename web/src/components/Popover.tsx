/** A panel that opens at a button and closes by itself: plain (`Popover`) or a list of actions (`Menu`). */
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useName } from "../hooks";
import { Icon, type IconName } from "./Icon";

/** Puts the panel under its anchor, or above when there is no room, inside the window. */
function place(panel: HTMLElement, anchor: HTMLElement): void {
  const from = anchor.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = panel;
  const left = Math.max(8, Math.min(from.left, innerWidth - width - 8));
  const below = from.bottom + 6;
  const top = below + height > innerHeight - 8 && from.top - height - 6 > 8 ? from.top - height - 6 : below;
  panel.style.left = `${left}px`;
  panel.style.top = `${Math.max(8, Math.min(top, innerHeight - height - 8))}px`;
}

export interface PopoverProps {
  /** what the button shows; `name` is its accessible name when that is an icon (class `icon`), and the name of a menu */
  button: ComponentChildren;
  name?: string;
  className?: string;
  role?: "menu" | "dialog";
  children: ComponentChildren | ((close: () => void) => ComponentChildren);
  disabled?: boolean;
  /** for keys that open the panel from elsewhere */
  id?: string;
  /** `data-tool` of the button, by which keys find it */
  tool?: string;
}

export function Popover(props: PopoverProps) {
  const [open, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  const id = useName("pop");
  const close = () => panel.current?.hidePopover();
  // a button with words is named by them
  const bare = props.className?.includes("icon");

  useEffect(() => {
    const node = panel.current!;
    const onToggle = (event: Event) => {
      const now = (event as ToggleEvent).newState === "open";
      setOpen(now);
      if (!now && node.contains(document.activeElement)) button.current?.focus();
    };
    node.addEventListener("toggle", onToggle);
    return () => node.removeEventListener("toggle", onToggle);
  }, []);
  useLayoutEffect(() => {
    if (!open) return;
    place(panel.current!, button.current!);
    for (const selector of ['[role^="menuitem"][aria-checked="true"]', '[role^="menuitem"]:not(:disabled)', "input, select, button, a"]) {
      const first = panel.current!.querySelector<HTMLElement>(selector);
      if (first) return first.focus();
    }
  }, [open]);

  return (
    <>
      <button
        ref={button}
        id={props.id}
        data-tool={props.tool}
        type="button"
        class={props.className ?? "btn"}
        aria-label={bare ? props.name : undefined}
        title={bare ? props.name : undefined}
        aria-haspopup={props.role ?? "dialog"}
        aria-expanded={open}
        aria-controls={id}
        disabled={props.disabled}
        onClick={() => (open ? close() : panel.current?.showPopover())}
      >
        {props.button}
      </button>
      <div
        ref={panel}
        id={id}
        popover="auto"
        class={props.role === "menu" ? "pop" : "pop card"}
        onKeyDown={(event) => event.key === "Escape" && event.stopPropagation()}
      >
        {open && (typeof props.children === "function" ? props.children(close) : props.children)}
      </div>
    </>
  );
}

export interface MenuItem {
  readonly label: string;
  readonly hint?: string;
  readonly icon?: IconName;
  readonly checked?: boolean;
  readonly disabled?: boolean;
  readonly lang?: string;
  onSelect(): void;
}

/** Actions or choices; `null` in the list draws a line, `before` stands above them, `why` is a note at the end. */
export function Menu(
  props: Omit<PopoverProps, "children" | "role"> & { items: readonly (MenuItem | null)[]; before?: ComponentChildren; why?: string },
) {
  const move = (event: KeyboardEvent) => {
    const items = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>('[role^="menuitem"]:not(:disabled)')];
    const at = items.indexOf(document.activeElement as HTMLElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    items[(to + items.length) % items.length]?.focus();
  };
  return (
    <Popover {...props} role="menu">
      {(close: () => void) => (
        <>
          {props.before}
          <div class="menu" role="menu" aria-label={props.name} onKeyDown={move}>
            {props.items.map((item, i) =>
              item === null ? (
                <hr key={i} />
              ) : (
                <button
                  key={i}
                  type="button"
                  tabIndex={-1}
                  role={item.checked === undefined ? "menuitem" : "menuitemradio"}
                  aria-checked={item.checked}
                  disabled={item.disabled}
                  lang={item.lang}
                  onClick={() => {
                    close();
                    item.onSelect();
                  }}
                >
                  {item.icon && <Icon name={item.icon} size={16} />}
                  <span>{item.label}</span>
                  {item.hint && <span class="hint">{item.hint}</span>}
                </button>
              ),
            )}
            {props.why && <p class="why">{props.why}</p>}
          </div>
        </>
      )}
    </Popover>
  );
}
