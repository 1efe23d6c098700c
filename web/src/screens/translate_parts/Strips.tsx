/** The two strips of tokens with ribbons between them, candidates of a step, alternatives. */
import { signal } from "@preact/signals";
import { useRef, useState } from "preact/hooks";
import type { Manifest, TraceToken } from "../../api-types";
import { Figure } from "../../components/Figure";
import { Icon } from "../../components/Icon";
import { Menu, type MenuItem } from "../../components/Popover";
import { Patches } from "../../components/Patches";
import { Ribbons, type Mark } from "../../components/Ribbons";
import { Piece, Tokens } from "../../components/Tokens";
import { Loading, Warnings } from "../../components/states";
import { withEdit } from "../../components/whatif/words";
import { traceExports } from "../../components/traceExports";
import { embedded } from "../../embedded";
import { t } from "../../i18n";
import { useKeys } from "../../keys";
import { fixed, percent } from "../../lib/format";
import { editOf, moved, withRow } from "../../lib/interventions";
import { column, largest, row, type Matrix } from "../../lib/matrix";
import { isRtl } from "../../lib/labels";
import { picturesSvg, rowScale } from "../../lib/picture";
import { stripsSvg } from "../../lib/strips";
import { prefixBefore, unitsOf } from "../../lib/tokens";
import { addOp, ops, params, seesPictures, setOps, setParams } from "../../state";
import { headsOf, sourceName, useLinks, type Links, usualSource } from "./links";
import type { Live } from "./live";

/** The token under the pointer or the arrow keys; the texts above mark its span. */
export const hovered = signal<Mark | null>(null);

interface StripsProps {
  manifest: Manifest | null;
  live: Live | null;
  fresh: boolean;
  aside?: boolean;
}

/** `aside`: with the candidates of a step and the alternatives, from which the translation can go on. */
export function Strips({ manifest, live, fresh, aside = true }: StripsProps) {
  const mark = hovered.value;
  const links = useLinks(fresh ? manifest : null);
  if (!fresh || !manifest) {
    if (live && live.sourceTokens.length > 0) return <Streaming live={live} manifest={manifest} />;
    return (
      <div class="card">
        <Loading height={200} />
      </div>
    );
  }
  const locked: Mark | null =
    lockOf(params.value.q, "target", manifest.target.tokens.length) ?? lockOf(params.value.j, "source", manifest.source.tokens.length);
  const shown = mark ?? locked;
  const m = links.matrix;
  const onSource = m && shown?.side === "target" && shown.token < m.rows ? row(m, shown.token) : null;
  const onTarget = m && shown?.side === "source" && shown.token < m.cols ? column(m, shown.token) : null;
  const scale = links.signed ? { signed: true, max: links.max } : { sqrt: false, max: 1 };
  const lock = (side: Mark["side"]) => (token: number | null) =>
    setParams(side === "target" ? { q: token, j: null } : { j: token, q: null }, { push: token !== null });
  const activate = (side: Mark["side"]) => (token: number | null) => (hovered.value = token === null ? null : { side, token });
  const has = (side: Mark["side"], of: Mark | null) => (of?.side === side ? of.token : null);
  const confidence = manifest.steps.map((step) => Math.exp(step.logprob ?? 0));
  const title = links.source === "influence" ? t("translate.supported") : t("translate.looked");
  const strip = (side: Manifest["source"]) => ({ units: unitsOf(side.tokens), rtl: side.dir === "rtl" });
  const where = aside && !embedded ? headsOf(manifest, links.source) : null;
  const { image } = manifest.source;
  const svg = (dark: boolean) =>
    image
      ? picturesSvg({ title, image, target: unitsOf(manifest.target.tokens), matrix: m, signed: links.signed, max: links.max, dark })
      : stripsSvg({ title, source: strip(manifest.source), target: strip(manifest.target), matrix: m, max: links.max, confidence, dark });
  return (
    <Figure
      title={title}
      file="translation"
      svg={svg}
      tools={<SourceMenu manifest={manifest} links={links} />}
      table={() => tableOf(manifest, m)}
      exports={traceExports(manifest, links.needs)}
      caption={captionOf(manifest, links, where !== null)}
    >
      <div class={aside ? "translate-body" : undefined}>
        <div class={image ? "strips pictured" : "strips"}>
          {image ? (
            <Patches
              name={t("figure.patches")}
              image={image}
              active={has("source", mark)}
              locked={has("source", locked)}
              onActive={activate("source")}
              onLock={lock("source")}
              values={onSource}
              scale={onSource ? rowScale(onSource, links.signed, links.max) : scale}
            />
          ) : (
            <>
              <Tokens
                name={t("figure.tokens_source")}
                side={manifest.source}
                active={has("source", mark)}
                locked={has("source", locked)}
                onActive={activate("source")}
                onLock={lock("source")}
                values={onSource}
                scale={scale}
              />
              <Ribbons
                matrix={m}
                mark={shown}
                max={links.max}
                signed={links.signed}
                dependency={manifest.id}
                onCut={where ? (q, k) => addOp({ op: "mask_edge", kind: "cross", ...where, q, k }) : undefined}
                onLead={
                  where && m ? (q, k, to) => setOps(withRow(ops.value, { kind: "cross", ...where }, q, moved(row(m, q), k, to))) : undefined
                }
                cutName={(q, k) => t("translate.cut_link", { q: nameOf(manifest.target, q), k: nameOf(manifest.source, k) })}
              />
            </>
          )}
          <Tokens
            name={t("figure.tokens_target")}
            side={manifest.target}
            active={has("target", mark)}
            locked={has("target", locked)}
            onActive={activate("target")}
            onLock={lock("target")}
            values={onTarget}
            scale={scale}
            confidence={confidence}
          />
        </div>
        {aside && (
          <div class="translate-aside">
            <Candidates manifest={manifest} step={has("target", shown)} />
            <Alternatives live={live} />
          </div>
        )}
      </div>
    </Figure>
  );
}

const nameOf = (side: Manifest["source"], token: number) => side.tokens[token]?.text.trim() || "␣";

function lockOf(text: string | undefined, side: Mark["side"], count: number): Mark | null {
  const token = Number(text);
  return text !== undefined && Number.isInteger(token) && token >= 0 && token < count ? { side, token } : null;
}

/** Strips while the search is running: the part that may change is faint. */
function Streaming({ live, manifest }: { live: Live; manifest: Manifest | null }) {
  const make = (texts: readonly string[]): TraceToken[] =>
    texts
      .map((piece, i) => ({ i, piece, text: piece.replace(/^[▁Ġ]/, "") }))
      .map(({ i, piece, text }) => ({ i, id: 0, text, piece, type: text === "</s>" ? "special" : "normal", span: null, word: i }));
  const dir = (texts: readonly string[]) => (texts.some(isRtl) ? "rtl" : "ltr");
  return (
    <Figure
      title={manifest && !manifest.model.kinds.cross ? t("translate.supported") : t("translate.looked")}
      file="translation"
      table={() => ({ head: [t("translate.column_token")], rows: live.tokens.map((text) => [text]) })}
    >
      <div class="translate-body">
        <div class="strips">
          {!seesPictures.value && (
            <Tokens name={t("figure.tokens_source")} side={{ lang: "", dir: dir(live.sourceTokens), tokens: make(live.sourceTokens) }} />
          )}
          {!seesPictures.value && <Ribbons matrix={null} mark={null} />}
          <Tokens
            name={t("figure.tokens_target")}
            side={{ lang: "", dir: dir(live.tokens), tokens: make(live.tokens) }}
            stable={live.stable}
            confidence={live.tokens.map(() => 0)}
          />
        </div>
        <div class="translate-aside" />
      </div>
    </Figure>
  );
}

function SourceMenu({ manifest, links }: { manifest: Manifest; links: Links }) {
  const cross = manifest.model.kinds.cross;
  const choose = (value: string, label: string): MenuItem => ({
    label,
    checked: links.source === value,
    onSelect: () => setParams({ r: value === usualSource(manifest) ? null : value }, { push: true }),
  });
  const heads: MenuItem[] = [];
  if (cross)
    for (let layer = cross.layers; layer >= 1; layer--)
      for (let head = 1; head <= cross.heads; head++)
        heads.push(
          choose(
            `${layer}.${head}`,
            withEdit(t("translate.one_head", { layer, head }), editOf(manifest.interventions, "cross", layer - 1, head - 1)),
          ),
        );
  const copied = manifest.model.kinds.copy ? [choose("copy", t("translate.copy"))] : [];
  const items = cross
    ? [
        ...copied,
        choose("mean", t("translate.mean")),
        choose("max", t("translate.max")),
        choose("influence", t("translate.influence")),
        null,
        ...heads,
      ]
    : [choose("influence", t("translate.influence"))];
  return (
    <Menu
      className="btn quiet"
      name={t("translate.from")}
      items={items}
      why={cross ? undefined : t("translate.no_attention")}
      button={
        <>
          <span class="muted">{t("translate.from")}</span>
          <span class="ink">{withEdit(sourceName(links.source), sourceEdit(manifest, links.source))}</span>
          <Icon name="chevron" size={14} />
        </>
      }
    />
  );
}

/** What interventions do to the head that the ribbons are of. */
function sourceEdit(manifest: Manifest, source: Links["source"]) {
  const where = headsOf(manifest, source);
  return where && typeof where.head === "number" ? editOf(manifest.interventions, "cross", where.layer, where.head) : null;
}

function captionKey(manifest: Manifest, links: Links): string {
  if (links.source === "influence")
    return manifest.source.image ? t("translate.caption_influence_picture") : t("translate.caption_influence");
  if (links.source === "copy") return t("translate.caption_copy");
  return manifest.source.image ? t("translate.caption_picture") : t("translate.caption_attention");
}

function captionOf(manifest: Manifest, links: Links, cuts: boolean) {
  return (
    <>
      {!manifest.model.kinds.cross && !manifest.source.image && <p>{t("translate.no_attention")}</p>}
      <p>
        {captionKey(manifest, links)} {cuts && !manifest.source.image && t("translate.cut_hint")}
      </p>
      {manifest.target.origin === "given" && <p>{t("translate.forced")}</p>}
      <Warnings of={manifest} />
    </>
  );
}

/** The best candidates of one step; a click forces the text up to and with the candidate and goes on from there. */
function Candidates({ manifest, step }: { manifest: Manifest; step: number | null }) {
  const last = useRef<{ id: string; step: number } | null>(null);
  if (step !== null) last.current = { id: manifest.id, step };
  const unsure = manifest.steps.reduce((worst, s, i) => ((s.logprob ?? 0) < (manifest.steps[worst].logprob ?? 0) ? i : worst), 0);
  const at = last.current?.id === manifest.id ? last.current.step : unsure;
  const now = manifest.steps[at];
  const branches = useBranches();
  if (!now) return null;
  return (
    <section class="candidates" aria-label={t("translate.candidates", { n: at + 1 })}>
      {branches.list.length > 1 && (
        <nav class="row small" aria-label={t("translate.branches")}>
          {branches.list.map((prefix, i) => (
            <button
              key={i}
              type="button"
              class={i === branches.list.length - 1 ? "chip on" : "chip"}
              aria-current={i === branches.list.length - 1}
              onClick={() => branches.back(i)}
            >
              {prefix === "" ? t("translate.branch_root") : <bdi>{prefix}…</bdi>}
            </button>
          ))}
          <kbd>⌫</kbd>
        </nav>
      )}
      <h3>{t("translate.candidates", { n: at + 1 })}</h3>
      <div class="candidate-list">
        {now.top.map((candidate) => {
          const share = Math.exp(candidate.logprob ?? -Infinity);
          const chosen = candidate.id === now.id;
          const prefix = prefixBefore(manifest.target, at, candidate.text);
          return (
            <button
              key={candidate.id}
              type="button"
              class={chosen ? "candidate on" : "candidate"}
              disabled={embedded !== null || candidate.text === "</s>"}
              title={t("translate.continue_from", { text: prefix })}
              onClick={() => branches.push(prefix)}
            >
              <bdi lang={manifest.target.lang}>
                <Piece text={candidate.text} piece={candidate.piece} />
              </bdi>
              <span class="muted">{percent(share)}</span>
              <i style={{ width: `${Math.max(2, share * 100)}%` }} />
              {chosen && <span class="sr">{t("translate.chosen")}</span>}
            </button>
          );
        })}
      </div>
      {now.top[0] && now.top[0].id !== now.id && <p class="note">{t("translate.not_likeliest")}</p>}
    </section>
  );
}

/** The way of forced prefixes from the free translation to the present one; Backspace goes one back. */
function useBranches() {
  const now = params.value.px ?? "";
  const [way, setWay] = useState<readonly string[]>(now ? ["", now] : [""]);
  const list = way[way.length - 1] === now ? way : now === "" ? [""] : way.includes(now) ? way.slice(0, way.indexOf(now) + 1) : ["", now];
  const show = (next: readonly string[]) => {
    setWay(next);
    setParams({ px: next[next.length - 1], t: null, q: null, j: null }, { push: true });
  };
  useKeys(list.length > 1 ? { Backspace: () => show(list.slice(0, -1)) } : {});
  return { list, push: (prefix: string) => show([...list, prefix]), back: (i: number) => show(list.slice(0, i + 1)) };
}

function Alternatives({ live }: { live: Live | null }) {
  const others = (live?.alternatives ?? []).filter((other) => other.text !== live?.text);
  if (others.length === 0) return null;
  return (
    <section class="alternatives">
      <h3>{t("translate.alternatives")}</h3>
      <ol>
        {others.map((other, i) => (
          <li key={i}>
            <bdi dir="auto">{other.text}</bdi>
            <span class="muted num">{fixed(other.score_per_token ?? other.score, 2)}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}

function tableOf(manifest: Manifest, m: Matrix | null) {
  const head = [
    t("translate.column_token"),
    t("translate.column_probability"),
    t("translate.column_logprob"),
    t("translate.column_strongest"),
    t("translate.column_value"),
  ];
  const rows = manifest.target.tokens.map((token, q) => {
    const step = manifest.steps[q];
    const best = m ? largest(row(m, q), 1)[0] : undefined;
    return [
      token.text,
      step?.logprob == null ? null : Math.exp(step.logprob),
      step?.logprob ?? null,
      best === undefined ? null : manifest.source.tokens[best].text,
      best === undefined ? null : m!.data[q * m!.cols + best],
    ];
  });
  return { head, rows };
}
