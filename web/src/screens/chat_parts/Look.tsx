/** Where the chosen answer came from: its attention as ribbons or as a matrix, and the way to the other screens. */
import type { Manifest } from "../../api-types";
import { choices, Segmented } from "../../components/controls";
import { Link } from "../../components/Link";
import { HeatmapFigure } from "../../components/HeatmapFigure";
import { Empty, Failed, Loading } from "../../components/states";
import { traceExports } from "../../components/traceExports";
import { useTraceOf } from "../../hooks";
import { t } from "../../i18n";
import { signed } from "../../lib/format";
import { mergeWords } from "../../lib/matrix";
import { unitsOf } from "../../lib/tokens";
import { href, params, setParams } from "../../state";
import { useLinks } from "../translate_parts/links";
import { Strips } from "../translate_parts/Strips";
import { chosen, type Turn } from "./turns";

export function Look() {
  const turn = chosen.value;
  const trace = useTraceOf(turn?.state === "done" ? turn.request : null);
  if (!turn)
    return (
      <div class="card">
        <Empty title={t("chat.nothing_chosen")}>
          <p>{t("chat.nothing_chosen_text")}</p>
        </Empty>
      </div>
    );
  if (turn.state === "failed" || turn.state === "stopped") return null;
  if (trace.error)
    return (
      <div class="card">
        <Failed error={trace.error} retry={trace.retry} />
      </div>
    );
  const manifest = trace.status === "ready" ? trace.value : null;
  if (!manifest)
    return (
      <div class="card">
        <Loading height={240} />
      </div>
    );
  const view = params.value.cv === "matrix" ? "matrix" : "ribbons";
  return (
    <div class="stack">
      <div class="row wide">
        <Segmented
          label={t("attention.view")}
          value={view}
          choices={choices(["ribbons", "matrix"], (one) => t(`chat.view_${one}`))}
          onChange={(one) => setParams({ cv: one === "matrix" ? one : null }, { push: true })}
        />
        <nav class="row wide small" aria-label={t("translate.open_in")}>
          <span class="muted">{t("translate.open_in")}</span>
          {(["attention", "inside", "translate"] as const).map((name) => (
            <Link key={name} href={href(name, onward(turn, manifest))}>
              {t(`shell.screen_${name}`)}
            </Link>
          ))}
        </nav>
      </div>
      {view === "matrix" ? <Matrix manifest={manifest} /> : <Strips manifest={manifest} live={null} fresh aside={false} />}
    </div>
  );
}

/** What takes an answer to another screen: a drawn one goes as a text that is given, for a search would not find it. */
const onward = (turn: Turn, manifest: Manifest) => ({
  m: manifest.model.name,
  s: turn.request.text,
  t: turn.settings.sample ? manifest.target.text : null,
});

function Matrix({ manifest }: { manifest: Manifest }) {
  const links = useLinks(manifest);
  if (!links.matrix)
    return links.status.error ? (
      <Failed error={links.status.error} retry={links.status.retry} />
    ) : (
      <div class="card">
        <Loading height={240} />
      </div>
    );
  const [rows, cols] = [manifest.target, manifest.source].map((side) => unitsOf(side.tokens));
  const merged = mergeWords(
    links.matrix,
    rows.map((unit) => unit.tokens),
    cols.map((unit) => unit.tokens),
  );
  const label = (lang: string) => (unit: (typeof rows)[number]) => ({ text: unit.text, lang, dim: unit.special });
  const influence = links.source === "influence";
  return (
    <HeatmapFigure
      title={influence ? t("translate.supported") : t("translate.looked")}
      file="answer"
      matrix={merged}
      rows={rows.map(label(manifest.target.lang))}
      cols={cols.map(label(manifest.source.lang))}
      scale={influence ? { signed: true, max: links.max } : { sqrt: true }}
      format={influence ? (value) => signed(value, 1) : undefined}
      maxCell={48}
      rtl={manifest.source.dir === "rtl"}
      exports={traceExports(manifest, links.needs)}
      caption={influence ? t("translate.caption_influence") : t("attention.caution")}
    />
  );
}
