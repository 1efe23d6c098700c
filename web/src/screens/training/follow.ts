/** Runs on show, with their curves: loaded once, then followed event by event while they train. */
import { useEffect, useRef, useState } from "preact/hooks";
import { type ApiError, epoch, followRun, getRun, getRuns, getSeries } from "../../api";
import type { RunEvent, RunOut } from "../../api-types";
import { embedded } from "../../embedded";
import { problemOf } from "../../errors";
import { extend, isWanted, type RunData } from "../../lib/training";

const REPAINT_MS = 250;
const AGAIN_MS = 2000;
const LIST_MS = 10_000;
/** Of one request. */
const MOST_CURVES = 32;
/** A browser opens six connections to one server; some must stay free. */
const MOST_FOLLOWED = 3;

export interface Followed {
  readonly data: RunData | null;
  readonly error: ApiError | null;
}

/** Data of the named runs; those that run are followed, and the page is drawn at most once in 250 ms. */
export function useRuns(runs: readonly RunOut[]): ReadonlyMap<string, Followed> {
  const [shown, setShown] = useState<ReadonlyMap<string, Followed>>(new Map());
  const store = useRef(new Map<string, Followed>());
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  const live = useRef(new Map<string, AbortController>());
  const back = useRef(epoch.value);
  const key = runs.map((run) => `${run.name} ${run.status === "running"}`).join(",");
  const now = epoch.value;

  const repaint = () => {
    timer.current ??= setTimeout(() => {
      timer.current = null;
      setShown(new Map(store.current));
    }, REPAINT_MS);
  };
  const put = (name: string, entry: Followed) => {
    store.current.set(name, entry);
    repaint();
  };
  useEffect(() => {
    if (back.current !== now) {
      back.current = now;
      live.current.forEach((control) => control.abort());
      live.current.clear();
    }
    const names = new Set(runs.map((run) => run.name));
    for (const run of runs) {
      const known = store.current.get(run.name)?.data?.detail.status;
      if (run.status !== "running" || known === undefined || known === "running") continue;
      live.current.get(run.name)?.abort(); // it goes on after an end: load and follow it anew
      live.current.delete(run.name);
    }
    for (const [name, control] of live.current)
      if (!names.has(name)) {
        control.abort();
        live.current.delete(name);
        store.current.delete(name);
      }
    let places =
      MOST_FOLLOWED - [...live.current.keys()].filter((name) => store.current.get(name)?.data?.detail.status === "running").length;
    for (const run of runs) {
      if (live.current.has(run.name)) continue;
      const control = new AbortController();
      live.current.set(run.name, control);
      const follow = run.status !== "running" || places-- > 0;
      void keepUp(
        run.name,
        follow,
        control.signal,
        () => store.current.get(run.name)?.data ?? null,
        (entry) => put(run.name, entry),
      );
    }
  }, [key, now]);
  useEffect(
    () => () => {
      live.current.forEach((control) => control.abort());
      if (timer.current) clearTimeout(timer.current);
    },
    [],
  );
  return shown;
}

/** Loads a run and follows it until it ends or the signal says so. */
async function keepUp(
  name: string,
  follow: boolean,
  signal: AbortSignal,
  now: () => RunData | null,
  put: (entry: Followed) => void,
): Promise<void> {
  while (!signal.aborted) {
    try {
      const detail = await getRun(name, signal);
      const names = detail.series.filter(isWanted).slice(0, MOST_CURVES);
      const series = names.length > 0 ? await getSeries(name, names, 1000, signal) : {};
      put({ data: { detail, series }, error: null });
      if (embedded || detail.status !== "running") return;
      if (follow) await listen(name, detail.offset ?? 0, signal, now, put);
      else await new Promise((done) => setTimeout(done, LIST_MS));
    } catch (error) {
      if (signal.aborted) return;
      const problem = problemOf(error);
      put({ data: now(), error: now() ? null : problem });
      if (problem.status === 0 || problem.status === 404) return; // the first loads again when the server is back
    }
    await new Promise((done) => setTimeout(done, AGAIN_MS));
  }
}

/** Applies events in bunches; returns when the run has ended, the stream stops, or its file was replaced. */
async function listen(
  name: string,
  offset: number,
  signal: AbortSignal,
  now: () => RunData | null,
  put: (entry: Followed) => void,
): Promise<void> {
  const control = new AbortController();
  const stop = () => control.abort();
  signal.addEventListener("abort", stop);
  let waiting: RunEvent[] = [];
  let timer: ReturnType<typeof setTimeout> | null = null;
  const flush = () => {
    timer = null;
    const data = now();
    if (data && waiting.length > 0 && !signal.aborted) put({ data: extend(data, waiting), error: null });
    waiting = [];
  };
  try {
    await followRun(name, { signal: control.signal, lastId: String(offset) }, ({ event, data }) => {
      if (event === "reset") return stop();
      if (event !== "message") return;
      if (Object.keys(now()?.detail.config ?? {}).length === 0) return stop(); // loaded before it was written: once more
      waiting.push(JSON.parse(data) as RunEvent);
      timer ??= setTimeout(flush, REPAINT_MS);
    });
  } catch (error) {
    if (!control.signal.aborted) throw error;
  } finally {
    signal.removeEventListener("abort", stop);
    if (timer) clearTimeout(timer);
    flush();
  }
}

/** The list of runs, looked at again every ten seconds; `error` only while there is no list. */
export function useRunList(): { runs: readonly RunOut[] | null; error: ApiError | null; retry(): void } {
  const [state, setState] = useState<{ runs: readonly RunOut[] | null; error: ApiError | null }>({ runs: null, error: null });
  const [turn, setTurn] = useState(0);
  const back = epoch.value;
  useEffect(() => {
    const control = new AbortController();
    const load = () =>
      getRuns(control.signal).then(
        (runs) => setState({ runs, error: null }),
        (error: unknown) => {
          if (!control.signal.aborted) setState((old) => ({ runs: old.runs, error: problemOf(error) }));
        },
      );
    void load();
    const timer = setInterval(() => document.visibilityState === "visible" && void load(), LIST_MS);
    return () => {
      control.abort();
      clearInterval(timer);
    };
  }, [turn, back]);
  return { ...state, retry: () => setTurn((n) => n + 1) };
}
