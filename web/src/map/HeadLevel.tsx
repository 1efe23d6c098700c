/** One head near: its stages, its row in motion, and the arithmetic of one cell. */
import { useMemo } from "preact/hooks";
import type { Manifest } from "../api-types";
import { Link } from "../components/Link";
import { Await, Loading } from "../components/states";
import { useTensors } from "../hooks";
import { t } from "../i18n";
import { chosenOf, choiceOf, headOf, needsOf } from "../screens/inside/head";
import { Steps } from "../screens/inside/AttentionTab";
import { Reckoning } from "../screens/inside/Reckoning";
import { href, params, setParams } from "../state";
import { HeadFigure } from "./HeadFigure";

export function HeadLevel({ manifest }: { manifest: Manifest }) {
  const choice = choiceOf(params.value, manifest)!;
  const tensors = useTensors(manifest.id, needsOf(choice, manifest));
  const head = useMemo(() => headOf(manifest, choice, tensors.value), [manifest.id, choice.kind, choice.layer, choice.head, tensors.value]);
  if (!head)
    return (
      <Await of={tensors} height={420}>
        {() => <Loading height={420} />}
      </Await>
    );
  const chosen = chosenOf(params.value, head);
  const inside = { tab: null, z: null, ph: null, c: null, k: choice.kind, l: choice.layer + 1, h: choice.head + 1 };
  return (
    <div class="stack">
      <Steps choice={choice} head={head} chosen={chosen} />
      <div class={params.value.z === "3" ? "inside-body" : "stack"}>
        <HeadFigure
          {...{ manifest, choice, head, chosen }}
          onPick={(j) => setParams({ j, z: 3 }, { push: true })}
          tools={
            <Link class="btn" href={href("inside", inside)}>
              {t("map.open_inside")}
            </Link>
          }
        />
        {params.value.z === "3" && <Reckoning manifest={manifest} choice={choice} head={head} chosen={chosen} />}
      </div>
    </div>
  );
}
