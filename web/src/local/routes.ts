/** The HTTP API of the server, as far as a tab can answer it. */
import type { Card, SeriesOut, StreamFinal, StreamStart } from "../api-types";
import { ApiError } from "../errors";
import type { TraceDraft } from "../lib/interventions";
import { linesOf } from "../lib/sentences";
import type { Engine } from "./engine";
import { beam, compare, type CompareDraft, influence, sweep, whatIf } from "./experiments";
import { type Files, INDEX, type Kind, LARGEST, LIMITS, LocalModel } from "./model";
import { type NeighboursDraft, neighbours } from "./neighbours";
import { sha256 } from "./sha256";
import { makeTrace, type Trace } from "./trace";
import { type Asked, onlyServed, read, translate } from "./translate";

const KEPT = 32;

/** The models of a page and the traces that it has made. */
export class Room {
  readonly traces = new Map<string, Trace>();

  constructor(
    readonly engine: Engine,
    readonly models: LocalModel[],
    /** answers that `jumok site` wrote down, by their paths */
    readonly recorded: () => Promise<Readonly<Record<string, unknown>>> = async () => ({}),
  ) {}

  async model(name: string | null | undefined): Promise<LocalModel> {
    const found = name ? this.models.find((model) => model.name === name) : this.models[0];
    if (!found) throw new ApiError(404, "unknown_model", `there is no model ${JSON.stringify(name)}`);
    await found.ready();
    return found;
  }

  keep(trace: Trace): Trace {
    this.traces.set(trace.manifest.id, trace);
    if (this.traces.size > KEPT) this.traces.delete(this.traces.keys().next().value!);
    return trace;
  }

  trace(id: string): Trace {
    const found = this.traces.get(id);
    if (!found) throw new ApiError(404, "unknown_trace", "there is no such trace: ask for it again");
    return found;
  }

  /** Adds the model of a folder that was dropped onto the page. */
  async add(folder: string, files: Files): Promise<string> {
    const size = [...files.values()].reduce((sum, file) => sum + file.length, 0);
    if (size > LARGEST) throw new ApiError(413, "too_large", `the folder has ${size} bytes, and a page takes ${LARGEST}`);
    const taken = (name: string) => this.models.some((model) => model.name === name);
    let name = folder;
    for (let n = 2; taken(name); n++) name = `${folder} (${n})`;
    const file = async (wanted: string) => {
      const found = files.get(wanted);
      if (!found) throw new ApiError(422, "bad_model", `${wanted} is missing: copy the folder again from where it was whole`);
      return found;
    };
    const model = new LocalModel(this.engine, name, files, file, { indexed: files.has(INDEX) });
    await model.ready();
    this.models.push(model);
    return name;
  }
}

type Emit = (event: string, data: unknown) => void;
interface Question {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
}

/** The answer to one question; `stopped` says that nobody waits for it any more. */
export async function answer(room: Room, { method, path, body }: Question, emit: Emit, stopped: () => boolean): Promise<unknown> {
  if (method === "ADD") return room.add(path, body as Files);
  const { pathname, searchParams } = new URL(path, "file:///");
  const parts = pathname.split("/").filter(Boolean).map(decodeURIComponent);
  if (method === "POST") return post(room, parts.slice(1).join("/"), body as never, emit, stopped);
  if (pathname === "/v1/models") return { models: room.models.map((model): Card => model.card) };
  if (parts[1] === "models" && parts[3] === "positions") return positions(await room.model(parts[2]), Number(searchParams.get("n") ?? 64));
  if (parts[1] === "traces") return ofTrace(room.trace(parts[2]), parts[3] ?? "", searchParams);
  const known = (await room.recorded())[decodeURIComponent(pathname)];
  if (known !== undefined) return parts[3] === "series" ? { series: chosen(known as SeriesOut, searchParams.getAll("name")) } : known;
  throw onlyServed(pathname);
}

/** The curves of these names that a run has. */
const chosen = ({ series }: SeriesOut, names: readonly string[]): SeriesOut["series"] =>
  Object.fromEntries(names.filter((name) => series[name]).map((name) => [name, series[name]]));

function ofTrace(trace: Trace, part: string, query: URLSearchParams): unknown {
  switch (part) {
    case "":
      return trace.manifest;
    case "tensors":
      return new Map(query.getAll("need").map((need) => [need, trace.tensor(need)]));
    case "beam":
      return beam(trace);
    case "influence":
      return influence(trace, query.get("unit") === "tokens" ? "tokens" : "words", query.get("replace") === "drop" ? "drop" : "unk");
    default:
      throw onlyServed(part);
  }
}

interface Bodies {
  readonly model?: string | null;
  readonly text: string;
  readonly texts: readonly string[];
  readonly models: readonly string[];
  readonly kinds?: readonly Kind[] | null;
}

async function post(room: Room, path: string, body: Bodies, emit: Emit, stopped: () => boolean): Promise<unknown> {
  switch (path) {
    case "translate": {
      const model = await room.model(body.model);
      const began = performance.now();
      if (body.texts.length > LIMITS.texts)
        throw new ApiError(422, "too_large", `${body.texts.length} texts, and ${LIMITS.texts} are allowed`);
      const results = body.texts.map((text) => translate(model, text, body as Asked));
      return { model: model.name, results, ms: performance.now() - began };
    }
    case "translate/stream": {
      const model = await room.model(body.model);
      const began = performance.now();
      const tokens = read(model, body.text).ids.map((id) => model.source.pieces[id]);
      emit("start", {
        id: sha256(new TextEncoder().encode(JSON.stringify(body))).slice(0, 16),
        model: model.name,
        source_tokens: tokens,
      } satisfies StreamStart);
      const found = translate(model, body.text, body as Asked);
      return emit("final", { ...found, ms: performance.now() - began } satisfies StreamFinal);
    }
    case "sentences": {
      const { name } = await room.model(body.model);
      return { model: name, sentences: sentencesOf(body.text) };
    }
    case "neighbours":
      return neighbours(await room.model(body.model), body as unknown as NeighboursDraft);
    case "trace":
      return room.keep(makeTrace(await room.model(body.model), body as unknown as TraceDraft)).manifest;
    case "what-if": {
      const found = whatIf(await room.model(body.model), body as unknown as TraceDraft);
      found.traces.forEach((trace) => room.keep(trace));
      return found.answer;
    }
    case "sweep": {
      const rows = sweep(makeTrace(await room.model(body.model), body as unknown as TraceDraft), body.kinds ?? null);
      for (;;) {
        const { done, value } = rows.next();
        emit(done ? "final" : "row", value);
        await new Promise((next) => setTimeout(next)); // a page that has gone can say so
        if (done || stopped()) return null;
      }
    }
    case "compare": {
      if (body.models.length < 2 || body.models.length > 3)
        throw new ApiError(422, "bad_parameter", "compare two or three models", "models");
      const models: LocalModel[] = [];
      for (const name of body.models) models.push(await room.model(name));
      const found = compare(models, body as unknown as CompareDraft);
      found.traces.forEach((trace) => room.keep(trace));
      return found.answer;
    }
    default:
      throw onlyServed(`/v1/${path}`);
  }
}

/** Sentences as the browser finds them; lines where it cannot. */
function sentencesOf(text: string): string[] {
  if (!("Segmenter" in Intl)) return linesOf(text);
  const cutter = new Intl.Segmenter(undefined, { granularity: "sentence" });
  return linesOf(text).flatMap((line) => [...cutter.segment(line)].map(({ segment }) => segment.trim()).filter(Boolean));
}

/** What each of the first positions adds to a source token. */
function positions(model: LocalModel, count: number): { positions: Card["positions"]; rows: number[][] | null } {
  const { placing, shape, table } = model;
  const of = Math.max(1, Math.min(1024, Math.trunc(count) || 64));
  if (placing === "learned" && table)
    return {
      positions: placing,
      rows: Array.from({ length: Math.min(of, shape.max_positions) }, (_, p) => [
        ...table.subarray(p * shape.width, (p + 1) * shape.width),
      ]),
    };
  if (placing !== "sinusoidal" && placing !== "rotary") return { positions: placing, rows: null };
  const width = placing === "rotary" ? shape.head_width : shape.width;
  const { fround } = Math;
  const row = (p: number) =>
    Array.from({ length: width }, (_, i) => {
      const angle = fround(p / fround(10000 ** fround((i - (i % 2)) / width)));
      return fround(i % 2 ? Math.cos(angle) : Math.sin(angle));
    });
  return { positions: placing, rows: Array.from({ length: of }, (_, p) => row(p)) };
}
