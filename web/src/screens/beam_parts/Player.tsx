/** Steps through the search by hand or by itself. */
import { useEffect, useRef, useState } from "preact/hooks";
import { IconButton } from "../../components/controls";
import { t } from "../../i18n";
import { useKeys } from "../../keys";

const PACE = 800;

export function Player({ steps, step, onStep }: { steps: number; step: number; onStep(step: number): void }) {
  const [playing, setPlaying] = useState(false);
  const now = useRef(step);
  now.current = step;
  const move = (by: number) => onStep(Math.max(0, Math.min(steps, now.current + by)));
  const play = () => {
    if (!playing && now.current >= steps) onStep(0);
    setPlaying(!playing);
  };
  useEffect(() => {
    if (!playing) return;
    const timer = setInterval(() => {
      move(1);
      if (now.current + 1 >= steps) setPlaying(false);
    }, PACE);
    return () => clearInterval(timer);
  }, [playing, steps]);
  useKeys({ ",": () => move(-1), ".": () => move(1) });
  return (
    <div class="row beam-player">
      <IconButton icon={playing ? "pause" : "play"} label={playing ? t("beam.pause") : t("beam.play")} pressed={playing} onClick={play} />
      <IconButton icon="prev" label={t("beam.step_back")} shortcut="," disabled={step <= 0} onClick={() => move(-1)} />
      <IconButton icon="next" label={t("beam.step_on")} shortcut="." disabled={step >= steps} onClick={() => move(1)} />
      <input
        type="range"
        min={0}
        max={steps}
        value={step}
        aria-label={t("beam.step")}
        aria-valuetext={t("beam.step_of", { n: step, steps })}
        onInput={(event) => {
          setPlaying(false);
          onStep(Number(event.currentTarget.value));
        }}
      />
      <output class="small muted">{t("beam.step_of", { n: step, steps })}</output>
    </div>
  );
}
