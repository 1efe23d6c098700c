/** Motion that a reader may not want: frames while something moves, and only the last of them where motion is reduced. */
import { useEffect, useRef } from "preact/hooks";

const reduced = typeof matchMedia === "undefined" ? null : matchMedia("(prefers-reduced-motion: reduce)");
/** Whether the reader asked for as little motion as possible. */
export const calm = (): boolean => reduced?.matches ?? false;

export interface Ticker {
  /** Draws at once and while the clock runs; `draw` gets the share of the time that has passed. Returns what ends it. */
  onFrame(draw: (u: number) => void): () => void;
}

/** A clock that runs from 0 to 1 once whenever `key` changes; where motion is reduced it stands at 1. */
export function useClock(key: string, ms: number): Ticker {
  const began = useRef(0);
  const last = useRef<string | null>(null);
  if (last.current !== key) {
    last.current = key;
    began.current = performance.now();
  }
  const frame = useRef(0);
  useEffect(() => () => cancelAnimationFrame(frame.current), []);
  return {
    onFrame(draw) {
      const tick = () => {
        const u = calm() ? 1 : Math.min(1, (performance.now() - began.current) / Math.max(1, ms));
        draw(u);
        if (u < 1) frame.current = requestAnimationFrame(tick);
      };
      tick();
      return () => cancelAnimationFrame(frame.current);
    },
  };
}
