/** The numbers of the Map, brought piece by piece: what is needed first comes first, and each piece is drawn when it is there. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { getTensors } from "../api";
import type { Kind, Manifest } from "../api-types";
import { embedded } from "../embedded";
import { useForward, useTensors } from "../hooks";
import { needOf, placeOf, sizesOf, type Pass } from "../lib/forward";
import { affordable, needOfStrip, planOf, stripsOf, type Plan, type Strip } from "../lib/map/plan";
import { combine, fromAtlas, matrix, type Matrix } from "../lib/matrix";
import { range } from "../lib/range";
import type { Tensor } from "../lib/safetensors";
import { local } from "../local/site";
import { asMatrix } from "../screens/inside/head";
import { mostBytes } from "../screens/inside/made";

/** Bytes of vectors that one picture may bring. */
const BUDGET = 12 << 20;

export interface MapData {
  readonly plan: Plan;
  readonly pass: Pass | null;
  /** grows with everything that arrives */
  readonly version: number;
  /** all is there that will come */
  readonly complete: boolean;
  /** strips that are left empty, for want of a forward pass or because they are too large together */
  readonly empty: number;
  /** the server has no PyTorch, which makes the states */
  readonly torchless: boolean;
  weights(kind: string, layer: number): Matrix | null;
  /** one head of a layer (both from 0) */
  head(kind: Kind, layer: number, head: number): Matrix | null;
  strip(id: string): Matrix | null;
  /** logits of the step by id; null where they cannot be had */
  readonly logits: ArrayLike<number> | null;
  readonly scores: Matrix | null;
}

interface Store {
  readonly strips: Map<string, Matrix>;
  readonly atlas: Map<string, Tensor>;
  readonly means: Map<string, Matrix>;
  scores: Matrix | null;
}

export function useMapData(manifest: Manifest, step: number): MapData {
  const asked = embedded || local || manifest.interventions.length > 0 ? null : manifest.id;
  const forward = useForward(asked);
  const pass = asked !== null && forward.value?.id === manifest.id ? forward.value : null;
  const waiting = asked !== null && pass === null && forward.status === "loading";
  const plan = useMemo(() => planOf(manifest, pass), [manifest.id, pass]);
  const [version, setVersion] = useState(0);
  const [complete, setComplete] = useState(false);
  const store = useRef<Store>(emptied());
  const known = useRef("");
  if (known.current !== manifest.id) {
    known.current = manifest.id;
    store.current = emptied();
  }
  useEffect(() => {
    const control = new AbortController();
    setComplete(false);
    const bring = async (needs: readonly string[], keep: (need: string, tensor: Tensor) => void) => {
      const found = await getTensors(manifest.id, needs, control.signal);
      if (control.signal.aborted) return;
      for (const [need, tensor] of found) keep(need, tensor);
      setVersion((n) => n + 1);
    };
    const all = async () => {
      await Promise.all([
        bringWeights(manifest, store.current, bring),
        waiting ? null : bringStrips(manifest, plan, pass, store.current, bring),
      ]);
      if (!waiting) setComplete(true);
    };
    all().catch(() => !control.signal.aborted && setComplete(true)); // what could not be had stays empty, and is said to be
    return () => control.abort();
  }, [manifest.id, plan, waiting]);
  const place = pass ? placeOf(pass, "output", "logits") : -1;
  const need = needOf(place, step);
  const row = useTensors(place >= 0 ? manifest.id : null, [need]);
  const { strips, atlas, means, scores } = store.current;
  return {
    plan,
    pass,
    version,
    complete,
    empty: stripsOf(plan).filter(({ id }) => !strips.has(id)).length,
    torchless: forward.error?.code === "extra_missing",
    weights: (kind, layer) => means.get(`${kind}:${layer - 1}`) ?? null,
    head: (kind, layer, head) => {
      const whole = atlas.get(`${kind}:${layer}`);
      return whole ? fromAtlas(whole, 0, head) : null;
    },
    strip: (id) => strips.get(id) ?? null,
    logits: row.value?.get(need)?.data ?? null,
    scores,
  };
}

const emptied = (): Store => ({ strips: new Map(), atlas: new Map(), means: new Map(), scores: null });
type Bring = (needs: readonly string[], keep: (need: string, tensor: Tensor) => void) => Promise<void>;

/** Weights of every kind: all layers at once where they are small, else layer by layer. */
async function bringWeights(manifest: Manifest, store: Store, bring: Bring): Promise<void> {
  for (const [kind, size] of Object.entries(manifest.model.kinds)) {
    const [, , rows = 0, cols = 0] = manifest.attention[kind as Kind]?.shape ?? [];
    const one = [1, size.heads, rows, cols];
    const count = size.heads * rows * cols;
    const keep = (layer: number, data: Tensor["data"]) => {
      const tensor = { shape: one, data, dtype: "U8" };
      store.atlas.set(`${kind}:${layer}`, tensor);
      store.means.set(
        `${kind}:${layer}`,
        combine(
          range(size.heads).map((head) => fromAtlas(tensor, 0, head)),
          "mean",
        ),
      );
    };
    if (embedded || size.layers * count <= mostBytes() / 4)
      await bring([`${kind}.atlas`], (_, { data }) => {
        for (const layer of range(size.layers)) keep(layer, data.subarray(layer * count, (layer + 1) * count));
      });
    else for (const layer of range(size.layers)) await bring([`${kind}.atlas:${layer}`], (_, { data }) => keep(layer, data));
  }
}

async function bringStrips(manifest: Manifest, plan: Plan, pass: Pass | null, store: Store, bring: Bring): Promise<void> {
  const width = manifest.model.d_model;
  const tokens = { encoder: manifest.source.tokens.length, decoder: manifest.target.tokens.length };
  const bytes = (strip: Strip) =>
    4 * (strip.place >= 0 && pass ? sizesOf(pass.tensors[strip.place]).reduce((a, b) => a * b, 1) : tokens[strip.side] * width);
  const wanted = affordable(plan, bytes, BUDGET).filter(({ id }) => !store.strips.has(id));
  if (manifest.rnn && manifest.model.kinds.cross)
    await bring(["cross.scores:0.0"], (_, tensor) => {
      store.scores = asMatrix(tensor);
    });
  let batch: Strip[] = [];
  const send = async () => {
    const byNeed = new Map(batch.map((strip) => [needOfStrip(strip)!, strip.id]));
    batch = [];
    if (byNeed.size > 0)
      await bring([...byNeed.keys()], (need, { shape, data }) => {
        const cols = shape[shape.length - 1] ?? 1;
        store.strips.set(byNeed.get(need)!, matrix(data.length / cols, cols, data as Float32Array));
      });
  };
  for (const strip of wanted) {
    if ([...batch, strip].reduce((sum, one) => sum + bytes(one), 0) > mostBytes() * 0.9) await send();
    batch.push(strip);
  }
  await send();
}
