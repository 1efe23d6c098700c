/** Hooks of the page: data with loading and error, the trace on show, sizes. */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ForwardDocument, Manifest } from "./api-types";
import type { TraceDraft } from "./lib/interventions";
import { epoch, getForward, getTensors, postTrace } from "./api";
import { problemOf, type ApiError } from "./errors";
import type { Tensor } from "./lib/safetensors";
import { traceRequest } from "./state";

/** Data on its way. `value` keeps the previous answer while the next is loading, so that nothing flickers. */
export interface Resource<R> {
  readonly status: "idle" | "loading" | "ready" | "error";
  readonly value: R | null;
  readonly error: ApiError | null;
  retry(): void;
}

/** Answers by key, shared by everyone who asks; the oldest leave first. */
const answers = new Map<string, unknown>();
const ANSWERS = 64;

function keep(key: string, value: unknown): void {
  answers.delete(key);
  answers.set(key, value);
  if (answers.size > ANSWERS) answers.delete(answers.keys().next().value!);
}

/** Loads when `key` changes and again when the server returns; the older call is cancelled. A null key loads nothing.
 *  With `cache` an answer is kept under its key: only for what never changes. */
export function useResource<R>(key: string | null, load: (signal: AbortSignal) => Promise<R>, { cache = false } = {}): Resource<R> {
  const [turn, setTurn] = useState(0);
  const [state, setState] = useState<Omit<Resource<R>, "retry">>({ status: "idle", value: null, error: null });
  const known = cache && key !== null ? (answers.get(key) as R | undefined) : undefined;
  const back = epoch.value;
  useEffect(() => {
    if (key === null) {
      setState({ status: "idle", value: null, error: null });
      return;
    }
    if (cache && answers.has(key)) {
      setState({ status: "ready", value: answers.get(key) as R, error: null });
      return;
    }
    const control = new AbortController();
    setState((old) => ({ status: "loading", value: old.value, error: null }));
    load(control.signal).then(
      (value) => {
        if (control.signal.aborted) return;
        if (cache) keep(key, value);
        setState({ status: "ready", value, error: null });
      },
      (error: unknown) => {
        if (control.signal.aborted) return;
        const problem = problemOf(error);
        setState((old) => ({ status: "error", value: old.value, error: problem }));
      },
    );
    return () => control.abort();
  }, [key, turn, back]);
  const retry = () => setTurn((n) => n + 1);
  if (known !== undefined) return { status: "ready", value: known, error: null, retry };
  // between the first drawing and the effect the call is on its way already
  return { ...state, status: key !== null && state.status === "idle" ? "loading" : state.status, retry };
}

/** The trace of a request (`null`: nothing to ask). */
export function useTraceOf(request: TraceDraft | null): Resource<Manifest> {
  const key = request ? "trace " + JSON.stringify(request) : null;
  return useResource(key, (signal) => postTrace(request!, signal), { cache: true });
}

/** The trace of the address: what every model screen draws. */
export const useTrace = (): Resource<Manifest> => useTraceOf(traceRequest.value);

const tensorsKey = (id: string, needs: readonly string[]) => `tensors ${id} ${needs.join(" ")}`;

/** Tensors of a trace by need, e.g. `["cross.atlas", "cross.weights:2.3"]`. */
export function useTensors(id: string | null | undefined, needs: readonly string[]): Resource<Map<string, Tensor>> {
  const key = id && needs.length > 0 ? tensorsKey(id, needs) : null;
  return useResource(key, (signal) => getTensors(id!, needs, signal), { cache: true });
}

/** Every tensor of the pass behind a trace, by name and shape. */
export const useForward = (id: string | null | undefined): Resource<ForwardDocument> =>
  useResource(id ? `forward ${id}` : null, (signal) => getForward(id!, signal), { cache: true });

/** Brings tensors that may be wanted next, one after another, once the page is idle; a failure is left to whoever asks in earnest. */
export function usePrefetch(id: string | null, needs: readonly string[]): void {
  useEffect(() => {
    const missing = needs.filter((need) => id && !answers.has(tensorsKey(id, [need])));
    if (!id || missing.length === 0) return;
    const control = new AbortController();
    const fetchAll = async () => {
      for (const need of missing) if (!control.signal.aborted) keep(tensorsKey(id, [need]), await getTensors(id, [need], control.signal));
    };
    const timer = setTimeout(() => void fetchAll().catch(() => undefined), 400);
    return () => {
      clearTimeout(timer);
      control.abort();
    };
  }, [id, needs.join(" ")]);
}

/** Width and height of an element's content box, kept up to date. */
export function useSize<E extends Element>(): [{ current: E | null }, { width: number; height: number }] {
  const ref = useRef<E>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  useLayoutEffect(() => {
    const node = ref.current;
    if (!node) return;
    const box = node.getBoundingClientRect();
    setSize({ width: box.width, height: box.height });
    const observer = new ResizeObserver(([entry]) => {
      const { width, height } = entry.contentRect;
      setSize((old) => (Math.abs(old.width - width) < 0.5 && Math.abs(old.height - height) < 0.5 ? old : { width, height }));
    });
    observer.observe(node);
    return () => observer.disconnect();
  }, []);
  return [ref, size];
}

let count = 0;
/** An id for `aria-` references, the same for the life of the component. */
export const useName = (prefix: string): string => useMemo(() => `${prefix}-${++count}`, []);
