/** Beside the tree: one node in words and numbers with what can be tried from it, or the answers the search ended with. */
import type { BeamNode, BeamDocument, Manifest } from "../../api-types";
import { Button, IconButton } from "../../components/controls";
import { Piece, Tokens } from "../../components/Tokens";
import { Await } from "../../components/states";
import { embedded } from "../../embedded";
import { useTensors, useTraceOf } from "../../hooks";
import { t } from "../../i18n";
import { fixed, percent } from "../../lib/format";
import { combine, matrix, row } from "../../lib/matrix";
import { lastLayer } from "../../lib/needs";
import { answersOf, endsOf, isEnd, pathOf, textUpTo } from "../../lib/tree";
import { addOp, ops, setParams } from "../../state";

interface PanelProps {
  manifest: Manifest;
  tree: BeamDocument;
  selected: number | null;
  onSelect(n: number | null): void;
}

export function Panel(props: PanelProps) {
  return (
    <aside class="card stack beam-panel">
      {props.selected === null ? <Answers {...props} /> : <NodePanel {...props} n={props.selected} />}
    </aside>
  );
}

const SHOWN = 10;

/** Ended hypotheses, the best first. */
function Answers({ manifest, tree, onSelect }: PanelProps) {
  const ends = endsOf(tree);
  const last = tree.chosen[tree.chosen.length - 1] ?? 0;
  const list = answersOf(tree, ends.length > 0 ? ends : [tree.nodes[last]]);
  return (
    <>
      <div>
        <h2>{ends.length > 0 ? t("beam.answers", { n: list.length }) : t("beam.unfinished")}</h2>
        <p class="small muted">{t("beam.pick_node")}</p>
      </div>
      <ol class="beam-answers">
        {list.slice(0, SHOWN).map(({ node, text, ways }) => (
          <li key={node.n}>
            <button type="button" class={node.n === last ? "best" : undefined} onClick={() => onSelect(node.n)}>
              <bdi lang={manifest.target.lang}>{text || "∅"}</bdi>
              {ways > 1 && <span class="badge">{t("beam.ways", { n: ways })}</span>}
              <span class="num">{fixed(node.norm, 2)}</span>
            </button>
          </li>
        ))}
      </ol>
      {tree.stable_prefix > 0 && tree.beam > 1 && <p class="note">{t("beam.stable", { n: tree.stable_prefix })}</p>}
    </>
  );
}

function NodePanel({ manifest, tree, n, onSelect }: PanelProps & { n: number }) {
  const node = tree.nodes[n];
  const path = pathOf(tree, n);
  const { text } = textUpTo(tree, n);
  const root = path.length === 0;
  return (
    <>
      <div class="row between beam-node-head">
        <h2>
          <bdi lang={manifest.target.lang}>{root ? t("beam.root") : node.text.trim() || "␣"}</bdi>
        </h2>
        <IconButton icon="close" label={t("beam.close")} size={16} onClick={() => onSelect(null)} />
      </div>
      {!root && <p class="small muted">{t(`beam.fate_${isEnd(tree, node) && node.state !== "finished" ? "answer" : node.state}`)}</p>}
      {!root && (
        <>
          <dl class="facts">
            <dt>{t("beam.prefix")}</dt>
            <dd class="text">
              <bdi lang={manifest.target.lang}>{text || "∅"}</bdi>
            </dd>
            <dt>{t("beam.probability")}</dt>
            <dd>{percent(Math.exp(node.logprob))}</dd>
            <dt>{t("beam.logprob")}</dt>
            <dd>{fixed(node.logprob, 3)}</dd>
            <dt>{t("beam.score")}</dt>
            <dd>{fixed(node.score, 3)}</dd>
            <dt>{t("beam.norm")}</dt>
            <dd>{fixed(node.norm, 3)}</dd>
            <dt>{t("beam.col_rank")}</dt>
            <dd>{t("beam.rank", { n: (node.rank ?? 0) + 1 })}</dd>
          </dl>
          <PathScores path={path} lang={manifest.target.lang} />
        </>
      )}
      {!embedded && <Actions tree={tree} node={node} />}
      {!root && <NodeAttention manifest={manifest} tree={tree} n={n} path={path} text={text} />}
      <Rejected tree={tree} node={node} lang={manifest.target.lang} onSelect={onSelect} />
    </>
  );
}

/** Score of every token on the way, as bars of probability. */
function PathScores({ path, lang }: { path: readonly BeamNode[]; lang: string }) {
  return (
    <div>
      <h3>{t("beam.per_token")}</h3>
      <ol class="beam-path">
        {path.map((node) => (
          <li key={node.n}>
            <bdi class="clip" lang={lang}>
              <Piece text={node.text} />
            </bdi>
            <i aria-hidden="true">
              <b style={{ width: `${Math.max(1, Math.exp(node.logprob) * 100)}%` }} />
            </i>
            <span class="num">{fixed(node.logprob, 2)}</span>
          </li>
        ))}
      </ol>
    </div>
  );
}

function Actions({ tree, node }: { tree: BeamDocument; node: BeamNode }) {
  const { text, whole } = textUpTo(tree, node.n);
  const word = node.text.trim();
  const end = isEnd(tree, node) || node.parent === null;
  const banned = ops.value.some((op) => op.op === "ban" && Array.isArray(op.text) && op.text.includes(word));
  const byte = /^<0x..>$/.test(word);
  return (
    <div class="row">
      <button
        type="button"
        class="btn"
        disabled={end || !whole || text === ""}
        title={whole ? undefined : t("beam.cut_character")}
        onClick={() => setParams({ px: text, n: null, st: null }, { push: true })}
      >
        {t("beam.force")}
      </button>
      <Button disabled={end || byte || word === "" || banned} onClick={() => addOp({ op: "ban", text: [word] })}>
        {t("beam.ban")}
      </Button>
    </div>
  );
}

interface NodeAttentionProps {
  manifest: Manifest;
  tree: BeamDocument;
  n: number;
  path: readonly BeamNode[];
  text: string;
}

/** Where the model looked to produce the node's token: mean of the last layer's heads. */
function NodeAttention({ manifest, tree, n, path, text }: NodeAttentionProps) {
  const size = manifest.model.kinds.cross;
  const onAnswer = tree.chosen.includes(n);
  const ask =
    size && !onAnswer && !embedded && text !== ""
      ? { model: manifest.model.name, text: manifest.source.text, interventions: ops.value, target: text }
      : null;
  const other = useTraceOf(ask);
  const trace = onAnswer ? manifest : other.value;
  const at = path.length - 1;
  const same = trace !== null && path.every((node, i) => trace.target.tokens[i]?.id === node.id);
  const needs = lastLayer(size);
  const tensors = useTensors(same ? trace.id : null, needs);
  if (!size) return <p class="note">{t("beam.no_attention")}</p>;
  if (!onAnswer && embedded) return null;
  if (trace && !same) return <p class="note">{t("beam.no_row")}</p>;
  return (
    <div>
      <h3>{t("beam.attention")}</h3>
      <Await of={onAnswer || other.value ? tensors : { ...other, value: null }} height={60}>
        {(map) => {
          const heads = needs.map((need) => map.get(need)).filter((tensor) => tensor !== undefined);
          if (heads.length === 0) return null;
          const mean = combine(
            heads.map((tensor) => matrix(tensor.shape[0], tensor.shape[1], tensor.data as Float32Array)),
            "mean",
          );
          return at < mean.rows ? (
            <Tokens name={t("beam.attention")} side={manifest.source} values={row(mean, at)} scale={{ sqrt: true }} least={0.05} />
          ) : null;
        }}
      </Await>
    </div>
  );
}

/** Ways on from the node that were not taken. */
function Rejected({ tree, node, lang, onSelect }: { tree: BeamDocument; node: BeamNode; lang: string; onSelect(n: number): void }) {
  const others = tree.nodes
    .filter((other) => other.parent === (node.state === "pruned" ? node.parent : node.n) && other.n !== node.n)
    .sort((a, b) => b.logprob - a.logprob);
  if (others.length === 0) return null;
  return (
    <div>
      <h3>{node.state === "pruned" ? t("beam.siblings") : t("beam.ways_on")}</h3>
      <div class="row beam-ways">
        {others.map((other) => (
          <button key={other.n} type="button" class={`chip ${other.state}`} onClick={() => onSelect(other.n)}>
            <bdi lang={lang}>
              <Piece text={other.text} />
            </bdi>
            <span class="faint">{percent(Math.exp(other.logprob))}</span>
          </button>
        ))}
      </div>
    </div>
  );
}
