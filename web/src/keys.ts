/** Keys that work everywhere on the page. */
import { signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { embedded } from "./embedded";
import { t } from "./i18n";
import { SCREENS } from "./lib/link";
import { screens } from "./screens";
import { toast } from "./components/toasts";
import { redo, undo } from "./components/whatif/steps";
import { go, model, models, ops, screen, setOps, setParams, whatIfOpen } from "./state";

/** Whether the list of keys is open. */
export const helpOpen = signal(false);

/** Handlers of keys that belong to what is on show; the newest comes first. A component adds its own with `useKeys`. */
const handlers: { key: string; run(): void }[] = [];

/** Global keys (`,` `.` `Backspace` …) of a component, from the moment it is drawn until it goes. Always the last render's. */
export function useKeys(keys: Readonly<Record<string, () => void>>): void {
  const latest = useRef(keys);
  latest.current = keys;
  useLayoutEffect(() => {
    const added = Object.keys(keys).map((key) => ({ key, run: () => latest.current[key]?.() }));
    handlers.unshift(...added);
    return () => added.forEach((entry) => handlers.splice(handlers.indexOf(entry), 1));
  }, [Object.keys(keys).join(" ")]);
}

const press = (selector: string) => document.querySelector<HTMLElement>(selector)?.click();

function swap(): void {
  const now = model.value;
  const other = models.value?.find(
    (card) => card.source_language === now?.target_language && card.target_language === now?.source_language,
  );
  if (other) setParams({ m: other.name, t: null, px: null, w: null }, { push: true });
  else toast(t("shell.no_swap"));
}

const ACTIONS: Readonly<Record<string, () => void>> = {
  "/": () => document.querySelector<HTMLElement>("[data-input]")?.focus(),
  "?": () => (helpOpen.value = !helpOpen.value),
  m: () => press("#model-button"),
  w: () => {
    if (screens[screen.value].looks) whatIfOpen.value = !whatIfOpen.value;
  },
  x: swap,
  T: () => press(".figure [data-tool=table]"),
  e: () => press(".figure [data-tool=export]"),
  l: () => press(".figure [data-tool=link]"),
  "0": () => ops.value.length > 0 && setOps([]),
};

export function installKeys(): void {
  let leader = 0;
  addEventListener("keydown", (event) => {
    if (
      (event.ctrlKey || event.metaKey) &&
      /^[zy]$/i.test(event.key) &&
      screens[screen.value].looks &&
      !embedded &&
      !typing(event.target)
    ) {
      event.preventDefault();
      return event.shiftKey || /y/i.test(event.key) ? redo() : undo();
    }
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
    if (leader && performance.now() - leader < 1200) {
      leader = 0;
      const to = SCREENS.find((name) => screens[name].key === event.key);
      if (to) {
        event.preventDefault();
        go(to);
      }
      return;
    }
    leader = event.key === "g" ? performance.now() : 0;
    const run = handlers.find((entry) => entry.key === event.key)?.run ?? ACTIONS[event.key];
    if (!run) return;
    event.preventDefault();
    run();
  });
}

function typing(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.matches("input:not([type=range]):not([type=checkbox]), textarea, select") || target.isContentEditable)
  );
}
