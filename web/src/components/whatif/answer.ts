/** The answer to the interventions of the address, asked once for everyone who shows it. */
import { computed } from "@preact/signals";
import type { WhatIfOut } from "../../api-types";
import type { TraceDraft } from "../../lib/interventions";
import { whatIf } from "../../api";
import { useResource, type Resource } from "../../hooks";
import { model, ops, options, sentence } from "../../state";

const request = computed<TraceDraft | null>(() =>
  model.value && sentence.value.trim() !== "" && ops.value.length > 0
    ? { model: model.value.name, text: sentence.value, interventions: ops.value, ...options.value }
    : null,
);

export function useWhatIf(): Resource<WhatIfOut> {
  const asked = request.value;
  return useResource(asked && "whatif " + JSON.stringify(asked), (signal) => whatIf(asked!, signal), { cache: true });
}
