/** The attention of a validation sentence as it forms: a slider over the probes of a run. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { getProbe } from "../../api";
import type { Probe } from "../../api-types";
import { HeatmapFigure } from "../../components/HeatmapFigure";
import { IconButton, Select } from "../../components/controls";
import { Await, Empty } from "../../components/states";
import { useResource } from "../../hooks";
import { t } from "../../i18n";
import { shorten } from "../../lib/labels";
import { combine, fromAtlas, type Matrix } from "../../lib/matrix";
import { bytesOf } from "../../lib/training";
import { params, setParams } from "../../state";
import { oneOf, type Shown } from "./shown";
import { RunChoice } from "./samples";

const FRAME_MS = 800;
const still = matchMedia("(prefers-reduced-motion: reduce)");

export function Emergence({ shown }: { shown: readonly Shown[] }) {
  const run = oneOf(shown, (one) => one.data.detail.probes.length > 0);
  const { probes, arch } = run.data.detail;
  return (
    <div class="stack">
      {shown.length > 1 && <div class="row wide controls"><RunChoice shown={shown} run={run} /></div>}
      {probes.length > 0 ? (
        <Film key={run.data.detail.name} name={run.data.detail.name} steps={[...probes].sort((a, b) => a - b)} />
      ) : (
        <div class="card">
          <Empty title={arch === "rnn" ? t("training.emergence_rnn") : t("training.emergence_none")}>
            <p>{arch === "rnn" ? t("training.emergence_rnn_text") : t("training.emergence_none_text")}</p>
          </Empty>
        </div>
      )}
    </div>
  );
}

function Film({ name, steps }: { name: string; steps: readonly number[] }) {
  const asked = steps.indexOf(Number(params.value.p));
  const at = params.value.p !== undefined && asked >= 0 ? asked : steps.length - 1;
  const [playing, setPlaying] = useState(false);
  const show = (i: number) => setParams({ p: steps[Math.max(0, Math.min(steps.length - 1, i))] });
  const probe = useResource(`probe ${name} ${steps[at]}`, (signal) => getProbe(name, steps[at], signal), { cache: true });
  // the picture after this one, so that playing does not wait
  useResource(playing && at + 1 < steps.length ? `probe ${name} ${steps[at + 1]}` : null, (signal) => getProbe(name, steps[at + 1], signal), { cache: true });
  useEffect(() => {
    if (!playing || probe.status === "loading") return;
    if (at === steps.length - 1) return setPlaying(false);
    const timer = setTimeout(() => show(at + 1), FRAME_MS);
    return () => clearTimeout(timer);
  }, [playing, at, probe.status]);
  const play = () => {
    if (!playing && at === steps.length - 1) show(0);
    setPlaying(!playing);
  };
  return (
    <>
      <div class="film card">
        {!still.matches && steps.length > 1 && <IconButton icon={playing ? "pause" : "play"} label={playing ? t("training.pause") : t("training.play")} onClick={play} />}
        <IconButton icon="prev" label={t("training.previous")} disabled={at === 0} onClick={() => show(at - 1)} />
        <input type="range" class="grow" min={0} max={steps.length - 1} step={1} value={at} disabled={steps.length < 2} aria-label={t("training.probe")} aria-valuetext={t("training.step", { n: steps[at] })} onInput={(event) => { setPlaying(false); show(Number(event.currentTarget.value)); }} />
        <IconButton icon="next" label={t("training.next")} disabled={at === steps.length - 1} onClick={() => show(at + 1)} />
        <output>{t("training.step", { n: steps[at] })}</output>
      </div>
      <Await of={probe} height={420}>{(value) => <Picture probe={value} />}</Await>
    </>
  );
}

function Picture({ probe }: { probe: Probe }) {
  const { i, l, h } = params.value;
  const chosen = Math.max(0, Math.min(probe.sentences.length - 1, Number(i) || 0));
  const sentence = probe.sentences[chosen];
  const [layers, heads] = sentence?.shape ?? [0, 0];
  const layer = Math.max(1, Math.min(layers, Number(l) || layers));
  const head = Number(h) >= 1 && Number(h) <= heads ? Number(h) : 0;
  const maps = useMemo(() => {
    if (!sentence) return [];
    const atlas = { shape: sentence.shape, data: bytesOf(sentence.atlas) };
    return Array.from({ length: heads }, (_, n): Matrix => fromAtlas(atlas, layer - 1, n));
  }, [sentence, layer, heads]);
  if (!sentence || maps.length === 0) return <div class="card"><Empty title={t("training.emergence_none")} /></div>;
  const text = (n: number) => shorten(joined(probe.sentences[n].source), 40);
  const numbered = (n: number) => Array.from({ length: n }, (_, k) => ({ value: String(k + 1), label: String(k + 1) }));
  return (
    <HeatmapFigure
      title={t("training.emergence_title", { text: text(chosen), n: probe.step })}
      caption={t("training.emergence_caption")}
      matrix={head ? maps[head - 1] : heads === 1 ? maps[0] : combine(maps, "mean")}
      rows={sentence.target} cols={sentence.source} scale={{ sqrt: true }} maxCell={36} maxHeight={520}
      before={
        <div class="row wide controls">
          {probe.sentences.length > 1 && <Select label={t("training.sentence")} value={String(chosen)} onChange={(value) => setParams({ i: value === "0" ? null : value })} choices={probe.sentences.map((_, n) => ({ value: String(n), label: text(n) }))} />}
          {layers > 1 && <Select label={t("training.layer")} value={String(layer)} onChange={(value) => setParams({ l: value })} choices={numbered(layers)} />}
          {heads > 1 && <Select label={t("training.head")} value={String(head)} onChange={(value) => setParams({ h: value === "0" ? null : value })} choices={[{ value: "0", label: t("training.head_mean") }, ...numbered(heads)]} />}
        </div>
      }
    />
  );
}

/** Labels of pieces as a text again: a leading space mark begins a word. */
const joined = (labels: readonly string[]) => labels.filter((label) => !/^(<.*>|⟨.*⟩)$/.test(label)).join("").replace(/[␣▁ ]+/g, " ").trim();
