/** The data inside an exported file: the same answers as the server's, with no network.
 *
 * The file holds `<script type="application/json" id="jumok-data">` with
 * `{"models": [Card], "traces": [Manifest], "answers": {"/v1/…": JSON}}` and, per trace,
 * `<script type="text/plain" id="jumok-tensors-{trace id}">` with base64 of gzip of one safetensors file. */
import type { Manifest } from "./api-types";
import type { TraceDraft } from "./lib/interventions";
import { ApiError } from "./errors";
import { resolveNeed } from "./lib/needs";
import { readSafetensors, type Tensor } from "./lib/safetensors";

interface Embedded {
  readonly models: readonly unknown[];
  readonly traces: readonly Manifest[];
  readonly answers: Readonly<Record<string, unknown>>;
}

function read(): Embedded | null {
  const node = document.getElementById("jumok-data");
  return node ? (JSON.parse(node.textContent ?? "null") as Embedded) : null;
}

/** Null when the page is served by a server. */
export const embedded: Embedded | null = typeof document === "undefined" ? null : read();

const notInFile = (what: string) => new ApiError(0, "not_in_file", what);

export async function embeddedAnswer<R>(method: "GET" | "POST", path: string, body?: unknown): Promise<R> {
  const data = embedded!;
  if (path === "/v1/models") return { models: data.models } as R;
  if (method === "POST" && path === "/v1/trace") return findTrace(data, body as TraceDraft) as R;
  const id = /^\/v1\/traces\/([^/?]+)$/.exec(path)?.[1];
  const answer = id ? data.traces.find((trace) => trace.id === id) : data.answers[path];
  if (answer === undefined) throw notInFile(path);
  return answer as R;
}

/** The trace of a question: with these very interventions, else with as many. */
function findTrace(data: Embedded, body: TraceDraft): Manifest {
  const asked = body.interventions ?? [];
  const fitting = data.traces.filter(
    (trace) => trace.model.name === body.model && trace.source.text === body.text && trace.interventions.length === asked.length,
  );
  const same = fitting.find((trace) => JSON.stringify(trace.interventions) === JSON.stringify(asked)) ?? fitting[0];
  if (!same) throw notInFile(body.text);
  return same;
}

const unpacked = new Map<string, Promise<Map<string, Tensor>>>();

export async function embeddedTensors(id: string, needs: readonly string[]): Promise<Map<string, Tensor>> {
  if (!unpacked.has(id)) unpacked.set(id, unpack(id));
  const all = await unpacked.get(id)!;
  const found = new Map<string, Tensor>();
  for (const need of needs) {
    const tensor = resolveNeed(all, need);
    if (!tensor) throw notInFile(need);
    found.set(need, tensor);
  }
  return found;
}

async function unpack(id: string): Promise<Map<string, Tensor>> {
  const node = document.getElementById(`jumok-tensors-${id}`);
  if (!node) throw notInFile(id);
  const bytes = Uint8Array.from(atob((node.textContent ?? "").trim()), (char) => char.charCodeAt(0));
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return readSafetensors(await new Response(plain).arrayBuffer());
}
