/** The worker of a page without a server: holds the engine and the models, and answers one question after the other. */
import { ApiError, problemOf } from "../errors";
import type { ServerEvent } from "../lib/sse";
import { unpacked } from "../lib/unpacked";
import { Engine } from "./engine";
import { type Files, INDEX, LocalModel } from "./model";
import { answer, Room } from "./routes";

export interface Ask {
  readonly id: number;
  /** where the files of the site are */
  readonly base: string;
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
}
export interface Reply {
  readonly id: number;
  readonly value?: unknown;
  readonly event?: ServerEvent;
  readonly error?: { readonly status: number; readonly code: string; readonly detail: string; readonly field: string | null };
}

/** All files of a site, handed over before the first question: those of a page that is one file. */
export interface Held {
  readonly files: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
}

/** Begin: the page is still being read, and will ask about this model, or the first. */
export interface Begin {
  readonly open: string;
  readonly model: string | null;
}

/** What `jumok site` wrote. */
interface Site {
  readonly engines: readonly string[];
  readonly models: readonly {
    readonly name: string;
    /** where each file of its folder lies; equal files of several models lie in one place */
    readonly files: Readonly<Record<string, string>>;
    readonly examples: readonly string[];
    readonly run: string | null;
  }[];
  readonly answers: string | null;
}

/** A module of one SIMD instruction: a browser that takes it can run the faster engine. */
const SIMD = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11);

let held: Held["files"] | null = null;

/** A file of the site. */
async function fetched(name: string, base: string): Promise<Uint8Array<ArrayBuffer>> {
  const here = held?.get(name);
  if (here) return name.endsWith(".gz") ? here : new Uint8Array(await unpacked(here));
  const url = new URL(name, base).href;
  let response: Response;
  try {
    response = await fetch(url);
  } catch (error) {
    throw new ApiError(0, "unreachable", String(error));
  }
  if (!response.ok) throw new ApiError(0, "unreachable", `${url}: ${response.status}`);
  return new Uint8Array(await response.arrayBuffer());
}

async function openEngine(base: string, [fast, plain]: readonly string[]): Promise<Engine> {
  if (typeof WebAssembly === "undefined") throw new ApiError(0, "no_wasm", "this browser has no WebAssembly");
  return Engine.open(await unpacked(await fetched(WebAssembly.validate(SIMD) ? fast! : plain!, base)));
}

/** The models of the site; their weights come when they are first asked for. */
async function openSite(base: string): Promise<Room> {
  const site = JSON.parse(new TextDecoder().decode(await fetched("site.json", base))) as Site;
  const engine = openEngine(base, site.engines);
  const folders = site.models.map(async ({ name, files, ...notes }) => {
    const at = (file: string) => fetched(files[file] ?? file, base);
    const small = Object.keys(files).filter((file) => !file.endsWith(".safetensors"));
    const found: Files = new Map(await Promise.all(small.map(async (file) => [file, await at(file)] as const)));
    return new LocalModel(await engine, name, found, at, { ...notes, indexed: INDEX in files });
  });
  const recorded = site.answers ? fetched(site.answers, base) : null;
  const answers = async () => (recorded ? JSON.parse(new TextDecoder().decode(await unpacked(await recorded))) : {});
  return new Room(await engine, await Promise.all(folders), answers);
}

let opening: Promise<Room> | null = null;
const gone = new Set<number>();
let last: Promise<void> = Promise.resolve();

function roomOf(base: string): Promise<Room> {
  opening ??= openSite(base).catch((error: unknown) => {
    opening = null;
    throw error;
  });
  return opening;
}

async function reply(ask: Ask): Promise<void> {
  if (gone.delete(ask.id)) return;
  const say = (message: Omit<Reply, "id">) => postMessage({ id: ask.id, ...message } satisfies Reply);
  try {
    const room = await roomOf(ask.base);
    const stopped = () => gone.has(ask.id);
    const value = await answer(room, ask, (event, data) => say({ event: { event, data: JSON.stringify(data), id: "" } }), stopped);
    say({ value });
  } catch (error) {
    const { status, code, detail, field } = problemOf(error);
    say({ error: { status, code, detail, field } });
  }
  gone.delete(ask.id);
}

addEventListener("message", ({ data }: MessageEvent<Ask | Begin | Held | { id: number; abort: true }>) => {
  if ("files" in data) held = data.files;
  else if ("open" in data)
    void roomOf(data.open)
      .then((room) => room.model(data.model))
      .catch(() => undefined); // who asks is told
  else if ("abort" in data) gone.add(data.id);
  else last = last.then(() => reply(data));
});
