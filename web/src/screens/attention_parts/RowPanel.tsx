/** Where one row looks: its strongest keys, entropy, the head in plain words, and what can be tried. */
import type { Manifest } from "../../api-types";
import type { Cell } from "../../components/Heatmap";
import { Icon } from "../../components/Icon";
import { Menu, type MenuItem } from "../../components/Popover";
import { Patches } from "../../components/Patches";
import { embedded } from "../../embedded";
import { t } from "../../i18n";
import { fixed, percent } from "../../lib/format";
import { entropy, row } from "../../lib/matrix";
import { rowScale } from "../../lib/picture";
import { href, ops, setOps, whatIfOpen } from "../../state";
import { headOps, titleOf, type Choice, type Picture } from "./view";
import { Link } from "../../components/Link";
import { Weights } from "./Weights";

export function RowPanel({ choice, manifest, picture, cell }: { choice: Choice; manifest: Manifest; picture: Picture; cell: Cell | null }) {
  const { matrix: m, rows } = picture;
  const weights = cell && row(m, cell.row);
  const keys = manifest.attention[choice.kind]?.k;
  const image = keys && manifest[keys].image;
  const bits = weights ? entropy(weights) : null;
  const [pick] = choice.picks;
  const pattern =
    choice.picks.length === 1 && typeof pick.head === "number"
      ? manifest.attention[choice.kind]?.fingerprint?.label[pick.layer]?.[pick.head]
      : undefined;
  return (
    <aside class="card stack attention-row">
      <div>
        <h2>{cell ? <bdi>{t("attention.row", { text: rows[cell.row].text })}</bdi> : titleOf(choice)}</h2>
        {pattern && <p class="small muted">{t(`attention.label_${pattern}`)}</p>}
      </div>
      {image && (
        <Patches
          name={t("figure.patches")}
          image={image}
          values={weights && onPatches(picture, weights)}
          scale={weights ? rowScale(weights, false, 1) : {}}
          active={cell && picture.colUnits[cell.col].tokens[0]}
          size={256}
        />
      )}
      {!weights && <p class="note">{t("attention.row_none")}</p>}
      {cell && <Weights choice={choice} picture={picture} cell={cell} />}
      {bits !== null && (
        <dl class="facts">
          <dt>{t("attention.entropy")}</dt>
          <dd>{t("attention.bits", { n: fixed(bits, 2) })}</dd>
          {picture.copied && cell && (
            <>
              <dt title={t("attention.copied_note")}>{t("attention.copied")}</dt>
              <dd title={t("attention.copied_note")}>{percent(picture.copied[cell.row])}</dd>
            </>
          )}
          {picture.folded && cell && (
            <>
              <dt>{t("attention.specials")}</dt>
              <dd>{fixed(picture.folded[cell.row], 3)}</dd>
            </>
          )}
        </dl>
      )}
      {!embedded && (
        <Menu
          className="btn"
          name={t("attention.try")}
          items={experiments(choice, picture, cell)}
          button={
            <>
              <Icon name="whatif" size={16} />
              {t("attention.try")}
            </>
          }
        />
      )}
      {typeof pick.head === "number" && choice.picks.length === 1 && (
        <Link class="small" href={href("inside", { k: choice.kind, l: pick.layer + 1, h: pick.head + 1 })}>
          {t("attention.inside")}
        </Link>
      )}
    </aside>
  );
}

/** The weights of a row by patch. */
function onPatches({ colUnits }: Picture, weights: ArrayLike<number>): number[] {
  const found: number[] = [];
  colUnits.forEach((unit, c) => unit.tokens.forEach((i) => (found[i] = weights[c])));
  return found;
}

function experiments(choice: Choice, picture: Picture, cell: Cell | null): MenuItem[] {
  const apply =
    (op: string, extra: object = {}) =>
    () => {
      setOps([...ops.value, ...headOps(choice, op, extra)]);
      whatIfOpen.value = true;
    };
  const items: MenuItem[] = [
    { label: t("attention.op_mask_head"), onSelect: apply("mask_head") },
    { label: t("attention.op_uniform"), onSelect: apply("uniform") },
  ];
  if (!cell) return items;
  const [q, k] = [picture.rowUnits[cell.row], picture.colUnits[cell.col]];
  items.push({ label: t("attention.op_cut", { q: q.text, k: k.text }), onSelect: apply("mask_edge", { q: q.tokens, k: k.tokens }) });
  if (q.tokens.length === 1)
    items.push({
      label: t("attention.op_set_row", { k: k.text }),
      onSelect: apply("set_row", { q: q.tokens[0], weights: Object.fromEntries(k.tokens.map((i) => [String(i), 1])) }),
    });
  return items;
}
