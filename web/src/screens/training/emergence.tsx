/** The attention of a validation sentence as it forms: a slider over the probes of a run. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { getProbe } from "../../api";
import type { ProbeOut } from "../../api-types";
import { Thumbnails, type Thumb } from "../../components/Thumbnails";
import { HeatmapFigure } from "../../components/HeatmapFigure";
import { IconButton, Select } from "../../components/controls";
import { Await, Empty } from "../../components/states";
import { useResource } from "../../hooks";
import { t } from "../../i18n";
import { shorten } from "../../lib/labels";
import { combine, fromAtlas, type Matrix } from "../../lib/matrix";
import { range } from "../../lib/range";
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
      {shown.length > 1 && (
        <div class="row wide controls">
          <RunChoice shown={shown} run={run} />
        </div>
      )}
      {probes.length > 0 ? (
        <Film key={run.data.detail.name} run={run} steps={[...probes].sort((a, b) => a - b)} />
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

function Film({ run, steps }: { run: Shown; steps: readonly number[] }) {
  const { name, samples } = run.data.detail;
  const texts = useMemo(() => samples.flatMap((one) => one.samples.map((sample) => sample.src)), [samples]);
  const asked = steps.indexOf(Number(params.value.p));
  const at = params.value.p !== undefined && asked >= 0 ? asked : steps.length - 1;
  const [playing, setPlaying] = useState(false);
  const show = (i: number) => setParams({ p: steps[Math.max(0, Math.min(steps.length - 1, i))] });
  const probe = useResource(`probe ${name} ${steps[at]}`, (signal) => getProbe(name, steps[at], signal), { cache: true });
  // the picture after this one, so that playing does not wait
  useResource(
    playing && at + 1 < steps.length ? `probe ${name} ${steps[at + 1]}` : null,
    (signal) => getProbe(name, steps[at + 1], signal),
    { cache: true },
  );
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
        {!still.matches && steps.length > 1 && (
          <IconButton icon={playing ? "pause" : "play"} label={playing ? t("training.pause") : t("training.play")} onClick={play} />
        )}
        <IconButton icon="prev" label={t("training.previous")} disabled={at === 0} onClick={() => show(at - 1)} />
        <input
          type="range"
          class="grow"
          min={0}
          max={steps.length - 1}
          step={1}
          value={at}
          disabled={steps.length < 2}
          aria-label={t("training.probe")}
          aria-valuetext={t("training.step", { n: steps[at] })}
          onInput={(event) => {
            setPlaying(false);
            show(Number(event.currentTarget.value));
          }}
        />
        <IconButton icon="next" label={t("training.next")} disabled={at === steps.length - 1} onClick={() => show(at + 1)} />
        <output>{t("training.step", { n: steps[at] })}</output>
      </div>
      <Await of={probe} height={420}>
        {(value) => <Picture probe={value} texts={texts} />}
      </Await>
    </>
  );
}

function Picture({ probe, texts }: { probe: ProbeOut; texts: readonly string[] }) {
  const { i, l, h } = params.value;
  const chosen = Math.max(0, Math.min(probe.sentences.length - 1, Number(i) || 0));
  const sentence = probe.sentences[chosen];
  const [layers, heads] = sentence?.shape ?? [0, 0];
  const layer = Math.max(1, Math.min(layers, Number(l) || layers));
  const head = Number(h) >= 1 && Number(h) <= heads ? Number(h) : 0;
  const maps = useMemo(() => {
    if (!sentence) return [];
    const atlas = { shape: sentence.shape, data: bytesOf(sentence.atlas) };
    return range(layers).map((n) => range(heads).map((m): Matrix => fromAtlas(atlas, n, m)));
  }, [sentence, layers, heads]);
  const thumbs = useMemo(
    () =>
      maps.flatMap((row, n) =>
        row.map(
          (matrix, m): Thumb => ({
            key: `${n + 1}.${m + 1}`,
            row: n,
            col: m,
            name: t("training.head_name", { l: n + 1, h: m + 1 }),
            matrix,
          }),
        ),
      ),
    [maps],
  );
  if (!sentence || thumbs.length === 0)
    return (
      <div class="card">
        <Empty title={t("training.emergence_none")} />
      </div>
    );
  const text = (n: number) => shorten(sourceText(probe.sentences[n].source, texts), 48);
  const numbered = (n: number) => range(n).map((k) => ({ value: String(k + 1), label: String(k + 1) }));
  const picked = maps[layer - 1];
  const choose = (key: string) => {
    const [toLayer, toHead] = key.split(".");
    setParams(toLayer === String(layer) && toHead === String(head) ? { h: null } : { l: toLayer, h: toHead });
  };
  return (
    <div class={thumbs.length > 1 ? "picture with-heads" : "picture"}>
      <HeatmapFigure
        title={t("training.emergence_title", { text: text(chosen), n: probe.step })}
        caption={t("training.emergence_caption")}
        matrix={head ? picked[head - 1] : heads === 1 ? picked[0] : combine(picked, "mean")}
        rows={sentence.target}
        cols={sentence.source}
        scale={{ sqrt: true }}
        maxCell={40}
        maxHeight={520}
        before={
          <div class="row wide controls">
            {probe.sentences.length > 1 && (
              <Select
                label={t("training.sentence")}
                value={String(chosen)}
                onChange={(value) => setParams({ i: value === "0" ? null : value })}
                choices={probe.sentences.map((_, n) => ({ value: String(n), label: text(n) }))}
              />
            )}
            {layers > 1 && (
              <Select
                label={t("training.layer")}
                value={String(layer)}
                onChange={(value) => setParams({ l: value })}
                choices={numbered(layers)}
              />
            )}
            {heads > 1 && (
              <Select
                label={t("training.head")}
                value={String(head)}
                onChange={(value) => setParams({ h: value === "0" ? null : value })}
                choices={[{ value: "0", label: t("training.head_mean") }, ...numbered(heads)]}
              />
            )}
            <span class="field">
              {t("training.wrote")} <bdi class="wrote">{shorten(sentence.text, 64) || t("training.nothing_written")}</bdi>
            </span>
          </div>
        }
      />
      {thumbs.length > 1 && (
        <section class="card heads" aria-label={t("training.heads_title")}>
          <h2>{t("training.heads_title")}</h2>
          <Thumbnails
            name={t("training.heads_title")}
            thumbs={thumbs}
            rows={numbered(layers).map((one) => one.label)}
            cols={numbered(heads).map((one) => one.label)}
            selected={head ? [`${layer}.${head}`] : numbered(heads).map((one) => `${layer}.${one.value}`)}
            onSelect={choose}
            scale={{ sqrt: true }}
          />
        </section>
      )}
    </div>
  );
}

/** The sentence behind labels: the sample that reads the same without its spaces, else the labels themselves. */
function sourceText(labels: readonly string[], texts: readonly string[]): string {
  const bare = (value: string) => value.replace(/[\s␣▁]+/g, "");
  const joined = labels.filter((label) => !/^(<.*>|⟨.*⟩)$/.test(label)).join("");
  return texts.find((text) => bare(text) === bare(joined)) ?? joined.replace(/[␣▁ ]+/g, " ").trim();
}
