/** Typed calls to the server, to the worker of a page without one, or to the data inside an exported file. */
import { signal } from "@preact/signals";
import type * as T from "./api-types";
import type { TraceDraft } from "./lib/interventions";
import { ApiError } from "./errors";
import { embedded, embeddedAnswer, embeddedTensors } from "./embedded";
import { fileBeside, local } from "./local/site";
import { readSafetensors, type Tensor } from "./lib/safetensors";
import { eventReader, type ServerEvent } from "./lib/sse";

export { ApiError };

/** False from the first call that nobody answered until the server is back; `epoch` counts its returns. */
export const online = signal(true);
export const epoch = signal(0);

const base = location.origin === "null" ? "" : location.origin;

async function send(path: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(base + path, init);
  } catch (error) {
    if (init.signal?.aborted) throw error;
    lost();
    throw new ApiError(0, "unreachable", String(error));
  }
  if (response.ok) return response;
  throw await problem(response);
}

async function problem(response: Response): Promise<ApiError> {
  try {
    const body = (await response.json()) as { code?: string; detail?: unknown; title?: string; field?: string };
    const detail = typeof body.detail === "string" ? body.detail : (body.title ?? response.statusText);
    return new ApiError(response.status, body.code ?? "internal", detail, body.field);
  } catch {
    return new ApiError(response.status, "internal", response.statusText);
  }
}

let waiting = false;

/** Looks for the server every second and a half until it answers. */
function lost(): void {
  online.value = false;
  if (waiting) return;
  waiting = true;
  const look = async () => {
    try {
      const response = await fetch(base + "/health/live", { cache: "no-store" });
      if (!response.ok) throw new Error();
      waiting = false;
      online.value = true;
      epoch.value += 1;
    } catch {
      setTimeout(look, 1500);
    }
  };
  setTimeout(look, 1500);
}

/** What answers in place of a server, on a page without one. */
const worker = () => import("./local/transport");

export async function getJson<R>(path: string, signal?: AbortSignal): Promise<R> {
  if (embedded) return embeddedAnswer<R>("GET", path);
  if (local) return (await worker()).localAnswer<R>("GET", path, undefined, signal);
  const response = await send(path, { signal, headers: { Accept: "application/json" } });
  return (await response.json()) as R;
}

/** A file beside the page. */
export const getFile = <R>(name: string, signal?: AbortSignal): Promise<R> =>
  local ? fileBeside<R>(name, signal) : getJson<R>(`/${name}`, signal);

export async function postJson<R>(path: string, body: unknown, signal?: AbortSignal): Promise<R> {
  if (embedded) return embeddedAnswer<R>("POST", path, body);
  if (local) return (await worker()).localAnswer<R>("POST", path, body, signal);
  const headers = { Accept: "application/json", "Content-Type": "application/json" };
  const response = await send(path, { method: "POST", headers, body: JSON.stringify(body), signal });
  return (await response.json()) as R;
}

/** Reads server-sent events until the stream ends; an `error` event is thrown. */
export async function events(
  path: string,
  options: { body?: unknown; signal?: AbortSignal; lastId?: string },
  onEvent: (event: ServerEvent) => void,
): Promise<void> {
  if (embedded) throw new ApiError(0, "not_in_file", "an exported file cannot compute");
  if (local) return (await worker()).localEvents(path, options.body, options.signal, onEvent);
  const headers: Record<string, string> = { Accept: "text/event-stream" };
  if (options.lastId) headers["Last-Event-ID"] = options.lastId;
  const post = options.body !== undefined;
  if (post) headers["Content-Type"] = "application/json";
  const response = await send(path, {
    method: post ? "POST" : "GET",
    headers,
    body: post ? JSON.stringify(options.body) : undefined,
    signal: options.signal,
    cache: "no-store",
  });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  const feed = eventReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      for (const event of feed(value)) {
        if (event.event === "error") throw errorOf(event.data);
        onEvent(event);
      }
    }
  } catch (error) {
    if (error instanceof ApiError || options.signal?.aborted) throw error;
    lost();
    throw new ApiError(0, "unreachable", String(error));
  }
}

function errorOf(data: string): ApiError {
  try {
    const body = JSON.parse(data) as { status?: number; code?: string; detail?: string; field?: string };
    return new ApiError(body.status ?? 500, body.code ?? "internal", body.detail ?? "", body.field);
  } catch {
    return new ApiError(500, "internal", data);
  }
}

// ---------------------------------------------------------------- models and translation

const name = encodeURIComponent;

export const getModels = async (signal?: AbortSignal) => (await getJson<{ models: T.Card[] }>("/v1/models", signal)).models;
export const getPositions = (model: string, n: number, signal?: AbortSignal) =>
  getJson<T.PositionRows>(`/v1/models/${name(model)}/positions?n=${n}`, signal);
export const getSentences = async (body: { readonly model: string; readonly text: string }, signal?: AbortSignal) =>
  (await postJson<T.SentencesAnswer>("/v1/sentences", { ...body, sentences: "split" }, signal)).sentences;
export const translate = (body: object, signal?: AbortSignal) => postJson<T.TranslateAnswer>("/v1/translate", body, signal);

/** Posts, hands each event to its handler by name, and returns the final one. */
async function untilFinal<R>(path: string, body: object, { signal, ...on }: { signal: AbortSignal; [event: string]: unknown }): Promise<R> {
  let last: R | null = null;
  await events(path, { body, signal }, ({ event, data }) => {
    const value = JSON.parse(data) as R;
    if (event === "final") last = value;
    else (on[event] as ((value: R) => void) | undefined)?.(value);
  });
  if (!last) throw new ApiError(0, "unreachable", "the stream ended early");
  return last;
}

/** Streams one translation and returns the final event. */
export const streamTranslation = (
  body: object,
  on: { signal: AbortSignal; start?(event: T.StreamStart): void; partial(event: T.StreamPartial): void },
) => untilFinal<T.StreamFinal>("/v1/translate/stream", body, { ...on });

// ---------------------------------------------------------------- traces

/** What each trace was asked with, so that one that left the server's cache can be asked for again. */
const asked = new Map<string, TraceDraft>();

export async function postTrace(body: TraceDraft, signal?: AbortSignal): Promise<T.Manifest> {
  const manifest = await postJson<T.Manifest>("/v1/trace", body, signal);
  asked.set(manifest.id, body);
  return manifest;
}
export const getTrace = (id: string, signal?: AbortSignal) => getJson<T.Manifest>(`/v1/traces/${name(id)}`, signal);

/** Runs a call on a trace; when the server has forgotten the trace, posts it again and runs the call once more. */
async function onTrace<R>(id: string, call: () => Promise<R>, signal?: AbortSignal): Promise<R> {
  try {
    return await call();
  } catch (error) {
    const body = asked.get(id);
    if (!(error instanceof ApiError && error.code === "unknown_trace" && body)) throw error;
    const again = await postTrace(body, signal);
    if (again.id !== id) throw new ApiError(409, "fingerprint_differs", "the model behind this trace has changed");
    return call();
  }
}

/** Tensors of a trace by the names of `needs`, e.g. `cross.atlas`, `cross.weights:2.3`. */
export function getTensors(id: string, needs: readonly string[], signal?: AbortSignal): Promise<Map<string, Tensor>> {
  if (embedded) return embeddedTensors(id, needs);
  const query = needs.map((need) => `need=${name(need)}`).join("&");
  const call = async () => {
    const path = `/v1/traces/${name(id)}/tensors?${query}`;
    if (local) return (await worker()).localTensors(path, signal);
    const response = await send(path, { signal });
    return readSafetensors(await response.arrayBuffer());
  };
  return onTrace(id, call, signal);
}
export const getForward = (id: string, signal?: AbortSignal) =>
  onTrace(id, () => getJson<T.ForwardDocument>(`/v1/traces/${name(id)}/forward`, signal), signal);
export const getBeam = (id: string, signal?: AbortSignal) =>
  onTrace(id, () => getJson<T.BeamDocument>(`/v1/traces/${name(id)}/beam`, signal), signal);
export const getInfluence = (id: string, unit: "words" | "tokens" = "words", replace: "unk" | "drop" = "unk", signal?: AbortSignal) =>
  onTrace(id, () => getJson<T.InfluenceOut>(`/v1/traces/${name(id)}/influence?unit=${unit}&replace=${replace}`, signal), signal);
/** A trace as one HTML file. */
export const getHtml = (id: string) => onTrace(id, async () => (await send(`/v1/traces/${name(id)}/html`, {})).blob());

// ---------------------------------------------------------------- experiments

export const whatIf = (body: TraceDraft, signal?: AbortSignal) => postJson<T.WhatIfOut>("/v1/what-if", body, signal);
export const compare = (body: object, signal?: AbortSignal) => postJson<T.CompareOut>("/v1/compare", body, signal);

/** The norm of the loss's gradient at each source token. */
export const getGradients = (body: object, signal?: AbortSignal) => postJson<T.GradientsOut>("/v1/gradients", body, signal);

/** What each member of an ensemble wanted at every step. */
export const getVotes = (body: object, signal?: AbortSignal) => postJson<T.Votes>("/v1/votes", body, signal);

/** Which training states are like those of a text and its answer. */
export const getNeighbours = (body: object, signal?: AbortSignal) => postJson<T.Neighbours>("/v1/neighbours", body, signal);

/** Masks each head alone; rows arrive as they are computed. */
export const sweep = (body: object, on: { signal: AbortSignal; row?(row: T.SweepRowOut): void }) =>
  untilFinal<T.SweepOut>("/v1/sweep", body, { ...on });

// ---------------------------------------------------------------- documents

const documentPath = (id: string, rest = "") => `/v1/documents/${name(id)}${rest}`;

/** Sends a file to be translated, with the lines of a glossary. Nothing is read into memory. */
export async function postDocument(file: File, model: string, glossary: string, signal?: AbortSignal): Promise<T.DocumentOut> {
  const query = `model=${name(model)}&name=${name(file.name.slice(-255))}`;
  const body = new FormData();
  body.append("glossary", glossary);
  body.append("file", file);
  const response = await send(`/v1/documents?${query}`, { method: "POST", body, signal });
  return (await response.json()) as T.DocumentOut;
}
/** The formats, and how the documents of these ids stand. */
export const getDocuments = (ids: readonly string[], signal?: AbortSignal) =>
  getJson<T.DocumentsOut>(`/v1/documents?${ids.map((id) => `id=${name(id)}`).join("&")}`, signal);
export const getDocument = (id: string, signal?: AbortSignal) => getJson<T.DocumentOut>(documentPath(id), signal);
export const deleteDocument = async (id: string) => void (await send(documentPath(id), { method: "DELETE" }));
export const followDocument = (id: string, signal: AbortSignal, onEvent: (now: T.DocumentOut) => void) =>
  events(documentPath(id, "/events"), { signal }, ({ data }) => onEvent(JSON.parse(data) as T.DocumentOut));
export const getSegments = (id: string, skip: number, count: number, doubtful: boolean, signal?: AbortSignal) =>
  getJson<T.SegmentsOut>(documentPath(id, `/segments?skip=${skip}&count=${count}&doubtful=${doubtful}`), signal);
export async function editSegment(id: string, n: number, target: string): Promise<T.SegmentOut> {
  const headers = { "Content-Type": "application/json" };
  const response = await send(documentPath(id, `/segments/${n}`), { method: "PATCH", headers, body: JSON.stringify({ target }) });
  return (await response.json()) as T.SegmentOut;
}
/** Where the translated file is fetched. */
export const documentFile = (id: string) => documentPath(id, "/file");

// ---------------------------------------------------------------- runs and evaluations

export const getRuns = async (signal?: AbortSignal) => (await getJson<{ runs: T.RunOut[] }>("/v1/runs", signal)).runs;
export const getRun = (run: string, signal?: AbortSignal) => getJson<T.RunDetails>(`/v1/runs/${name(run)}`, signal);
export const getSeries = async (run: string, names: readonly string[], points = 1000, signal?: AbortSignal) => {
  const query = names.map((series) => `name=${name(series)}`).join("&");
  return (await getJson<T.SeriesOut>(`/v1/runs/${name(run)}/series?${query}&points=${points}`, signal)).series;
};
export const followRun = (run: string, options: { signal: AbortSignal; lastId?: string }, onEvent: (event: ServerEvent) => void) =>
  events(`/v1/runs/${name(run)}/events`, options, onEvent);
export const getProbe = (run: string, step: number, signal?: AbortSignal) =>
  getJson<T.ProbeOut>(`/v1/runs/${name(run)}/probes/${step}`, signal);
// ---------------------------------------------------------------- training from the page

export const getTrainer = (signal?: AbortSignal) => getJson<T.TrainerOut>("/v1/training", signal);
export const checkPairs = (body: object, signal?: AbortSignal) => postJson<T.PairsOut>("/v1/training/check", body, signal);
export const beginTraining = (body: object) => postJson<T.TrainingOut>("/v1/training", body);
export async function changeTraining(run: string, action: "pause" | "resume" | "stop"): Promise<T.TrainingOut> {
  const headers = { "Content-Type": "application/json" };
  const response = await send(`/v1/training/${name(run)}`, { method: "PATCH", headers, body: JSON.stringify({ action }) });
  return (await response.json()) as T.TrainingOut;
}

export const getEvals = async (signal?: AbortSignal) => (await getJson<{ evals: T.EvalOut[] }>("/v1/evals", signal)).evals;
export const getEval = (id: string, signal?: AbortSignal) => getJson<T.EvalDocument>(`/v1/evals/${name(id)}`, signal);
/** What kinds of mistakes answers have. */
export const findMistakes = (body: object, signal?: AbortSignal) => postJson<T.MistakesDocument>("/v1/mistakes", body, signal);
export const scorePairs = async (body: object, signal?: AbortSignal) => (await postJson<T.ScoreAnswer>("/v1/score", body, signal)).results;
export const getOpenApi = (signal?: AbortSignal) => getJson<Record<string, unknown>>("/openapi.json", signal);
