/** Asks the worker what a page of a server asks over HTTP. */
import { ApiError } from "../errors";
import type { ServerEvent } from "../lib/sse";
import type { Tensor } from "../lib/safetensors";
import type { Ask, Held, Reply } from "./worker";
import { local } from "./site";

interface Waiting {
  done(value: unknown): void;
  fail(error: unknown): void;
  event?(event: ServerEvent): void;
}

const waiting = new Map<number, Waiting>();
let worker: Worker | null = null;
let asked = 0;

declare global {
  interface Window {
    /** begun before the page by site/opened.js */
    jumokWorker?: Worker | null;
  }
}

function start(): Worker {
  const made = window.jumokWorker ?? new Worker(local!);
  window.jumokWorker = null;
  made.onmessage = ({ data }: MessageEvent<Reply>) => {
    const one = waiting.get(data.id);
    if (!one) return;
    if (data.event) {
      one.event?.(data.event);
      return;
    }
    waiting.delete(data.id);
    if (data.error) one.fail(new ApiError(data.error.status, data.error.code, data.error.detail, data.error.field));
    else one.done(data.value);
  };
  made.onerror = (event) => {
    worker = null; // the next question starts another
    for (const [id, one] of waiting) {
      waiting.delete(id);
      one.fail(new ApiError(500, "internal", event.message || "the worker of this page ended"));
    }
  };
  const files = filesHere();
  if (files.size > 0) made.postMessage({ files } satisfies Held);
  return made;
}

/** What a page in one file holds for its worker: the same files as a site, packed, by their names there. */
function filesHere(): Map<string, Uint8Array<ArrayBuffer>> {
  const blocks = [...document.querySelectorAll<HTMLScriptElement>("script[data-file]")];
  const bytes = (text: string) => Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  return new Map(blocks.map((block) => [block.dataset.file!, bytes(block.textContent ?? "")]));
}

type Question = Omit<Ask, "id" | "base">;

function ask(question: Question, signal?: AbortSignal, event?: (event: ServerEvent) => void): Promise<unknown> {
  worker ??= start();
  const to = worker;
  const id = ++asked;
  return new Promise((done, fail) => {
    waiting.set(id, { done, fail, event });
    signal?.addEventListener("abort", () => {
      if (!waiting.delete(id)) return;
      to.postMessage({ id, abort: true });
      fail(signal.reason);
    });
    to.postMessage({ id, base: document.baseURI, ...question } satisfies Ask);
  });
}

export const localAnswer = <R>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<R> =>
  ask({ method, path, body }, signal) as Promise<R>;

export const localTensors = (path: string, signal?: AbortSignal): Promise<Map<string, Tensor>> =>
  ask({ method: "GET", path }, signal) as Promise<Map<string, Tensor>>;

export async function localEvents(
  path: string,
  body: unknown,
  signal: AbortSignal | undefined,
  event: (event: ServerEvent) => void,
): Promise<void> {
  await ask({ method: "POST", path, body }, signal, event);
}

/** Hands the files of a folder over; the name of the model that they are. */
export const addFolder = (name: string, files: ReadonlyMap<string, Uint8Array<ArrayBuffer>>): Promise<string> =>
  ask({ method: "ADD", path: name, body: files }) as Promise<string>;
