/** Recurrence: the states of a sentence one after another, and the one gate that everything passes. */
import type { Op } from "../../lib/interventions";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Card, Manifest } from "../../api-types";
import { HeatmapFigure } from "../../components/HeatmapFigure";
import { Await, Loading } from "../../components/states";
import { embedded } from "../../embedded";
import { useTensors } from "../../hooks";
import { t } from "../../i18n";
import { norm, shown } from "../../lib/arithmetic";
import { fixed } from "../../lib/format";
import { largest, row, transpose, type Matrix } from "../../lib/matrix";
import { range } from "../../lib/range";
import { addOp, href, params, seesPictures, setParams, whatIfOpen } from "../../state";
import { LuongFormulas, RecurrenceFormula } from "./formulas";
import { asMatrix, choiceOf, headOf, labelsOf, needsOf, reach } from "./head";
import { Button } from "../../components/controls";
import { Link } from "../../components/Link";

interface About {
  readonly cell: string;
  readonly bidirectional: boolean;
  readonly layers: number;
  readonly inputFeeding: boolean;
}

function aboutOf(manifest: Manifest): About {
  const rnn = manifest.rnn;
  return {
    cell: (rnn?.cell ?? "rnn").toUpperCase(),
    bidirectional: rnn?.bidirectional === true,
    layers: rnn?.layers ?? 1,
    inputFeeding: rnn?.input_feeding === true,
  };
}

const NEEDS = ["rnn.encoder", "rnn.bridge", "rnn.decoder"];

export function RecurrenceTab({ manifest, card }: { manifest: Manifest; card: Card }) {
  if (!manifest.rnn) return <NoRecurrence manifest={manifest} />;
  return <States manifest={manifest} card={card} />;
}

function States({ manifest, card }: { manifest: Manifest; card: Card }) {
  const tensors = useTensors(manifest.id, NEEDS);
  const about = aboutOf(manifest);
  const [encoder, bridge, decoder] = NEEDS.map((need) => tensors.value?.get(need)).map((tensor) => tensor && asMatrix(tensor));
  const fits =
    encoder && bridge && decoder && encoder.rows === manifest.source.tokens.length && decoder.rows === manifest.target.tokens.length;
  return (
    <div class="stack inside-recurrence">
      <div class="card stack inside-words">
        <h2>{t("inside.recurrence_title", { cell: about.cell })}</h2>
        <p>
          {t("inside.recurrence_text")} {about.bidirectional && t("inside.bidirectional")}
        </p>
        <RecurrenceFormula cell={about.cell} />
      </div>
      {fits ? (
        <Timeline manifest={manifest} encoder={encoder} bridge={bridge} decoder={decoder} about={about} />
      ) : (
        <Await of={tensors} height={420}>
          {() => <Loading height={420} />}
        </Await>
      )}
      {!embedded && <BridgeTrials card={card} sentence={manifest.source.text} />}
      {manifest.model.arch === "luong" && <LuongSteps manifest={manifest} />}
    </div>
  );
}

interface TimelineProps {
  manifest: Manifest;
  encoder: Matrix;
  bridge: Matrix;
  decoder: Matrix;
  about: About;
}

/** Left to right: states of the source, the gate, states of the target. Each strip is one state, top to bottom its numbers. */
function Timeline({ manifest, encoder, bridge, decoder, about }: TimelineProps) {
  const most = reach(encoder, decoder);
  const numbers = (m: Matrix) => range(m.cols).map((n) => String(n + 1));
  const luong = manifest.model.arch === "luong";
  const [q, j] = [Number(params.value.q ?? NaN), Number(params.value.j ?? NaN)];
  const strip = (m: Matrix, max = most) => ({
    matrix: transpose(m),
    rows: numbers(m),
    scale: { signed: true, max },
    format: (value: number) => fixed(value, 1),
    free: true,
    maxCell: 40,
    maxHeight: 360,
  });
  const at = (n: number, m: Matrix) => (n >= 0 && n < m.rows ? { row: 0, col: n } : null);
  return (
    <div class="card inside-timeline">
      <div style={{ flexGrow: String(encoder.rows + 2) }}>
        <HeatmapFigure
          bare
          className="tone-k"
          title={t("inside.encoder_states")}
          file="encoder-states"
          {...strip(encoder)}
          cols={labelsOf(manifest.source)}
          rtl={manifest.source.dir === "rtl"}
          locked={at(j, encoder)}
          onLock={(cell) => cell && setParams({ j: cell.col })}
          caption={t("inside.encoder_note")}
          tools={<span class="badge">{`${encoder.rows} × ${encoder.cols}`}</span>}
        />
      </div>
      <div class="inside-gate" style={{ flexGrow: String(Math.max(3, bridge.rows + 2)) }}>
        <HeatmapFigure
          bare
          className="tone-o"
          title={t("inside.bridge")}
          file="bridge"
          {...strip(bridge, reach(bridge))}
          cols={bridgeLabels(bridge.rows, about)}
          caption={t(luong ? "inside.bridge_note_luong" : "inside.bridge_note", { n: bridge.rows * bridge.cols })}
        />
      </div>
      <div style={{ flexGrow: String(decoder.rows + 2) }}>
        <HeatmapFigure
          bare
          className="tone-q"
          title={t("inside.decoder_states")}
          file="decoder-states"
          {...strip(decoder)}
          cols={labelsOf(manifest.target)}
          rtl={manifest.target.dir === "rtl"}
          locked={at(q, decoder)}
          onLock={(cell) => cell && setParams({ q: cell.col })}
          caption={t("inside.decoder_note")}
          tools={<span class="badge">{`${decoder.rows} × ${decoder.cols}`}</span>}
        />
      </div>
    </div>
  );
}

/** Rows of the bridge: layers, and for an LSTM its state h and its cell c. */
function bridgeLabels(rows: number, { layers }: About): string[] {
  const each = Math.max(1, Math.round(rows / Math.max(1, layers)));
  return range(rows).map((n) => (rows === 1 ? "h" : `${each > 1 ? "hc"[n % each] : "h"}${layers > 1 ? Math.floor(n / each) + 1 : ""}`));
}

function BridgeTrials({ card, sentence }: { card: Card; sentence: string }) {
  const others = card.examples.filter((text) => text !== sentence);
  const [other, setOther] = useState(others[0] ?? "");
  const run = (op: Partial<Op>) => {
    addOp({ op: "bridge", ...op });
    whatIfOpen.value = true;
  };
  return (
    <div class="card row wide">
      <span class="small muted">{t("inside.bridge_try")}</span>
      <Button onClick={() => run({ mode: "zero" })}>{t("inside.bridge_zero")}</Button>
      {!seesPictures.value && (
        <span class="row grow">
          <Button disabled={other.trim() === ""} onClick={() => run({ mode: "swap", text: other.trim() })}>
            {t("inside.bridge_swap")}
          </Button>
          <input
            class="input inside-other"
            dir="auto"
            value={other}
            list="inside-examples"
            aria-label={t("inside.bridge_other")}
            placeholder={t("inside.bridge_other")}
            onInput={(event) => setOther(event.currentTarget.value)}
          />
          <datalist id="inside-examples">
            {others.map((text) => (
              <option key={text} value={text} />
            ))}
          </datalist>
        </span>
      )}
    </div>
  );
}

/** Luong's four lines with the numbers of one step. */
function LuongSteps({ manifest }: { manifest: Manifest }) {
  const choice = choiceOf({}, manifest)!;
  const tensors = useTensors(manifest.id, needsOf(choice, manifest));
  const head = headOf(manifest, choice, tensors.value);
  if (!head)
    return (
      <Await of={tensors} height={200}>
        {() => <Loading height={200} />}
      </Await>
    );
  const q = Math.max(0, Math.min(head.rows.length - 1, Number(params.value.q ?? 0) || 0));
  const [scores, weights] = [row(head.scores, q), row(head.weights, q)];
  const strongest = largest(weights, 3);
  const names = (values: Float32Array, digits: number): ComponentChildren =>
    strongest.map((k, n) => (
      <span key={k}>
        {n > 0 && <span class="faint">{" · "}</span>}
        <bdi lang={head.cols[k].lang}>{head.cols[k].text}</bdi> <b>{shown(values[k], digits).text}</b>
      </span>
    ));
  const lines: readonly [string, ComponentChildren][] = [
    [t("inside.luong_scores", { score: head.score ?? "" }), names(scores, 3)],
    [t("inside.luong_weights"), names(weights, 3)],
    [t("inside.luong_context"), <b>{`‖c‖ = ${shown(norm(row(head.context, q)), 3).text}`}</b>],
    [t("inside.luong_attentional"), <b>{`‖s̃‖ = ${shown(norm(row(head.out, q)), 3).text}`}</b>],
  ];
  const formulas = LuongFormulas({ score: head.score });
  return (
    <section class="card stack">
      <div class="row between">
        <h2>
          {t("inside.luong_title")}{" "}
          <bdi class="tone-q" lang={head.rows[q].lang}>
            {head.rows[q].text}
          </bdi>
        </h2>
        <Link class="small" href={href("inside", { tab: null, q })}>
          {t("inside.luong_steps")}
        </Link>
      </div>
      <ol class="inside-luong">
        {lines.map(([name, value], n) => (
          <li key={n}>
            <span class="inside-luong-formula">{formulas[n]}</span>
            <span class="small muted">{name}</span>
            <span class="inside-luong-value">{value}</span>
          </li>
        ))}
      </ol>
      <p class="note">{t("inside.luong_pick")}</p>
    </section>
  );
}

/** A Transformer: nothing is carried from token to token. */
function NoRecurrence({ manifest }: { manifest: Manifest }) {
  const tokens = manifest.source.tokens.filter((token) => token.type !== "special");
  const [first, last] = [tokens[0], tokens[tokens.length - 1]];
  const layers = manifest.model.layers.encoder;
  return (
    <div class="card stack inside-words">
      <h2>{t("inside.no_recurrence_title")}</h2>
      <p>{t("inside.no_recurrence")}</p>
      {first && last && first !== last && (
        <p>{t("inside.no_recurrence_path", { first: first.text.trim(), last: last.text.trim(), steps: last.i - first.i, layers })}</p>
      )}
      <p>{t("inside.no_recurrence_order")}</p>
      <p class="row wide">
        <Link href={href("inside", { tab: null, k: "enc_self", l: null, h: null, q: null, j: null })}>{t("inside.to_self")}</Link>
        <Link href={href("inside", { tab: "positions" })}>{t("inside.to_positions")}</Link>
      </p>
    </div>
  );
}

/** A model without attention on the Attention tab: why, the vector it has instead, and where to look. */
export function WithoutAttention({ manifest }: { manifest: Manifest }) {
  const tensors = useTensors(manifest.rnn ? manifest.id : null, ["rnn.bridge"]);
  return (
    <div class="stack">
      <div class="card stack inside-words">
        <h2>{t("inside.no_attention_title")}</h2>
        <p>{t("inside.no_attention")}</p>
        <p class="row wide">
          <Link href={href("attention")}>{t("inside.to_influence")}</Link>
          <Link href={href("inside", { tab: "recurrence" })}>{t("inside.to_recurrence")}</Link>
        </p>
      </div>
      <Await of={tensors} height={160}>
        {(found) => {
          const tensor = found.get("rnn.bridge");
          if (!tensor) return null;
          const m = asMatrix(tensor);
          return (
            <HeatmapFigure
              className="tone-o"
              title={t("inside.bridge_title")}
              file="bridge"
              matrix={m}
              rows={bridgeLabels(m.rows, aboutOf(manifest))}
              cols={range(m.cols).map((n) => String(n + 1))}
              scale={{ signed: true, max: reach(m) }}
              format={(value) => fixed(value, 1)}
              free
              maxCell={44}
              caption={t("inside.bridge_note", { n: m.rows * m.cols })}
              tools={<span class="badge">{`${m.rows} × ${m.cols}`}</span>}
            />
          );
        }}
      </Await>
    </div>
  );
}
