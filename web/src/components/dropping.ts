/** Files that are dropped anywhere on the page. */
import { useEffect, useRef } from "preact/hooks";

/** Anywhere on the page: a file dropped beside the box would otherwise replace the page. `null`: a folder. */
export function useDropping(setOver: (over: boolean) => void, take: (files: readonly File[] | null) => void): void {
  const latest = useRef(take);
  latest.current = take;
  useEffect(() => {
    const stop = new AbortController();
    const on = <E extends keyof WindowEventMap>(name: E, act: (event: WindowEventMap[E]) => void) =>
      addEventListener(name, act, { signal: stop.signal });
    on("dragover", (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      setOver(true);
    });
    on("dragleave", (event) => event.relatedTarget === null && setOver(false));
    on("drop", (event) => {
      setOver(false);
      const given = event.dataTransfer;
      if (!given?.types.includes("Files")) return;
      event.preventDefault();
      const folder = [...given.items].some((item) => item.webkitGetAsEntry?.()?.isDirectory);
      if (folder || given.files.length > 0) latest.current(folder ? null : [...given.files]);
    });
    return () => stop.abort();
  }, []);
}
