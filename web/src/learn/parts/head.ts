/** One head of a model on the sentence of a chapter, with all its stages. */
import { useMemo } from "preact/hooks";
import type { Card, Kind, Manifest } from "../../api-types";
import { useTensors, useTraceOf, type Resource } from "../../hooks";
import { choiceOf, headOf, needsOf, type Head } from "../../screens/inside/head";

export interface HeadOfText {
  readonly manifest: Manifest;
  readonly head: Head;
}

/** `layer` and `at` count from 0; without them the last layer and the first head. */
export function useHead(card: Card, text: string, kind: Kind, layer?: number, at?: number): Resource<HeadOfText> {
  const trace = useTraceOf({ model: card.name, text });
  const manifest = trace.value;
  const place = {
    k: kind,
    ...(layer === undefined ? {} : { l: String(layer + 1) }),
    ...(at === undefined ? {} : { h: String(at + 1) }),
  };
  const choice = manifest && choiceOf(place, manifest);
  const tensors = useTensors(manifest?.id, manifest && choice ? needsOf(choice, manifest) : []);
  const head = useMemo(() => manifest && choice && headOf(manifest, choice, tensors.value), [manifest, tensors.value]);
  if (trace.status === "error") return { ...trace, value: null };
  if (tensors.status === "error") return { ...tensors, value: null };
  const value = manifest && head ? { manifest, head } : null;
  return { status: value ? "ready" : "loading", value, error: null, retry: tensors.retry };
}
