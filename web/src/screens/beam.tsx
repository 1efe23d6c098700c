/** The Beam screen: the search as a tree, step by step, with the search before it faint behind. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { BeamDocument, Manifest } from "../api-types";
import { getBeam } from "../api";
import { Figure } from "../components/Figure";
import { Icon } from "../components/Icon";
import { NoText } from "../components/NoText";
import { Await } from "../components/states";
import { embedded } from "../embedded";
import { useResource, useTraceOf } from "../hooks";
import { t } from "../i18n";
import { fixed } from "../lib/format";
import { searchStep } from "../lib/step";
import { limbsOf, MOST, stepsOf, textUpTo, type Limb } from "../lib/tree";
import { drawsOf, model, ops, params, setOps, setParams, traceRequest } from "../state";
import { Controls } from "./beam_parts/Controls";
import { Panel } from "./beam_parts/Panel";
import { Player } from "./beam_parts/Player";
import { Tree } from "./beam_parts/Tree";
import { Button } from "../components/controls";
import "../styles/beam.css";

interface Found {
  readonly manifest: Manifest;
  readonly tree: BeamDocument;
}

export function Beam() {
  const { target: _, ...asked } = traceRequest.value ?? { text: "" };
  const rest = drawsOf(model.value) ? { beam: Number(model.value!.decoding.beam ?? 4), ...asked } : asked; // draws have no tree
  const trace = useTraceOf(traceRequest.value ? rest : null);
  const id = trace.value?.id ?? null;
  const beam = useResource<Found>(id && `beam ${id}`, async (signal) => ({ manifest: trace.value!, tree: await getBeam(id!, signal) }), {
    cache: true,
  });
  const busy = trace.status === "loading" || beam.status === "loading";
  const failed = trace.status === "error";
  return (
    <div class="screen beam">
      <header class="screen-head">
        <h1>{t("beam.title")}</h1>
        <p class="small">{t("beam.intro")}</p>
      </header>
      {!embedded && <Controls />}
      <Forced />
      <Await<Found>
        of={failed ? { ...trace, value: beam.value } : { ...beam, status: busy ? "loading" : beam.status }}
        height={420}
        empty={<NoText />}
      >
        {() => (beam.value ? <Explorer {...beam.value} /> : null)}
      </Await>
    </div>
  );
}

/** What the search was told to do otherwise: a beginning, banned words. */
function Forced() {
  const prefix = params.value.px;
  const banned = ops.value.flatMap((op, at) => (op.op === "ban" && Array.isArray(op.text) ? [{ at, text: op.text.join(", ") }] : []));
  if (!prefix && banned.length === 0) return null;
  return (
    <div class="row beam-forced">
      {prefix && <Chip label={t("beam.forced", { text: prefix })} off={() => setParams({ px: null, n: null, st: null }, { push: true })} />}
      {banned.map(({ at, text }) => (
        <Chip key={at} label={t("beam.banned", { text })} off={() => setOps(ops.value.filter((_, i) => i !== at))} />
      ))}
    </div>
  );
}

function Chip({ label, off }: { label: string; off(): void }) {
  return (
    <button type="button" class="chip on" title={t("beam.undo")} aria-label={`${label}. ${t("beam.undo")}`} onClick={off}>
      <bdi>{label}</bdi>
      <Icon name="close" size={12} />
    </button>
  );
}

/** The search shown before this one, as long as model and sentence stay the same. */
function useBefore({ manifest, tree }: Found): { before: BeamDocument | null; forget(): void } {
  const about = `${manifest.model.fingerprint} ${manifest.source.text}`;
  const memory = useRef<{ about: string; id: string; tree: BeamDocument; before: BeamDocument | null } | null>(null);
  const [, redraw] = useState(0);
  const last = memory.current;
  if (!last || last.id !== manifest.id)
    memory.current = { about, id: manifest.id, tree, before: last && last.about === about ? last.tree : null };
  const forget = () => {
    memory.current = { ...memory.current!, before: null };
    redraw((n) => n + 1);
  };
  return { before: memory.current!.before, forget };
}

function Explorer(found: Found) {
  const { manifest, tree } = found;
  const { before, forget } = useBefore(found);
  const steps = stepsOf(tree);
  const step = searchStep(params.value.st, params.value.q, steps);
  const limbs = useMemo(() => limbsOf(tree, before), [tree, before]);
  const n = Number(params.value.n ?? NaN);
  const selected = Number.isInteger(n) && n >= 0 && n < tree.nodes.length ? n : null;
  const select = (next: number | null) => setParams({ n: next }, { push: next !== null });
  // step n decides token n - 1, which the other screens show too
  const toStep = (next: number) => setParams(next < 1 ? { st: 0 } : { st: null, q: next < steps ? next - 1 : null });
  // a node of another search is another node
  const shown = useRef(manifest.id);
  useEffect(() => {
    if (shown.current !== manifest.id) setParams({ n: null, st: null });
    shown.current = manifest.id;
  }, [manifest.id]);
  return (
    <div class="beam-body">
      <Figure
        title={title(tree)}
        file={`beam-${tree.beam}`}
        table={() => tableOf(tree)}
        caption={<Legend tree={tree} limbs={limbs} before={before} forget={forget} />}
      >
        <Player key={manifest.id} steps={steps} step={step} onStep={toStep} />
        <Tree tree={tree} limbs={limbs} lang={manifest.target.lang} step={step} selected={selected} onSelect={select} />
      </Figure>
      <Panel manifest={manifest} tree={tree} selected={selected} onSelect={select} />
    </div>
  );
}

const title = (tree: BeamDocument) => (tree.beam === 1 ? t("beam.tree_greedy") : t("beam.tree", { n: tree.beam }));

function Legend({
  tree,
  limbs,
  before,
  forget,
}: {
  tree: BeamDocument;
  limbs: readonly Limb[];
  before: BeamDocument | null;
  forget(): void;
}) {
  return (
    <div class="beam-legend">
      <ul class="row wide">
        {(["chosen", "expanded", "pruned", "finished"] as const).map((state) => (
          <li key={state} class={state}>
            <i aria-hidden="true" />
            {t(`beam.state_${state}`)}
          </li>
        ))}
      </ul>
      <p>
        {t("beam.rule")} {tree.nodes.length > MOST && t("beam.counted_note", { n: tree.nodes.length, shown: limbs.length })}
      </p>
      {before && (
        <p class="row">
          <span class="beam-ghost-key" aria-hidden="true" />
          {t("beam.before", { beam: before.beam, lp: fixed(before.length_penalty, 1) })}
          <Button kind="quiet" onClick={forget}>
            {t("beam.forget")}
          </Button>
        </p>
      )}
    </div>
  );
}

const tableOf = (tree: BeamDocument) => ({
  head: [
    t("beam.col_node"),
    t("beam.col_parent"),
    t("beam.col_step"),
    t("beam.col_token"),
    t("beam.prefix"),
    t("beam.logprob"),
    t("beam.score"),
    t("beam.norm"),
    t("beam.col_rank"),
    t("beam.col_state"),
  ],
  rows: tree.nodes.map((node) => [
    node.n,
    node.parent ?? "",
    node.t + 1,
    node.text,
    textUpTo(tree, node.n).text,
    node.logprob,
    node.score,
    node.norm,
    (node.rank ?? 0) + 1,
    t(`beam.state_${node.state}`),
  ]),
});
