/** The What-if drawer: interventions as a list, what they change, and which heads the sentence needs. */
import type { Op } from "../lib/interventions";
import { useEffect, useState } from "preact/hooks";
import type { Card, Manifest } from "../api-types";
import { useTrace } from "../hooks";
import { t } from "../i18n";
import { begin, complete, lookedAt, offered, refused, type OpName } from "../lib/interventions";
import { encodeOps } from "../lib/link";
import { model, ops, params, sentence, setOps, setParams, whatIfOpen } from "../state";
import { Icon } from "./Icon";
import { Menu, type MenuItem } from "./Popover";
import { Button, IconButton } from "./controls";
import { Loading, problemText } from "./states";
import { useWhatIf } from "./whatif/answer";
import { OpForm } from "./whatif/OpForm";
import { Outcome } from "./whatif/Outcome";
import { Sweep } from "./whatif/Sweep";
import { opDetails, opName } from "./whatif/words";
import "../styles/whatif.css";

export function WhatIf() {
  const card = model.value;
  const manifest = useTrace().value;
  const answer = useWhatIf();
  const [draft, setDraft] = useState<Op | null>(null);
  const [open, setOpen] = useState<number | null>(null);
  useEffect(() => setDraft(null), [card?.name]);
  if (!card) return null;
  const list = ops.value;
  const bad = answer.status === "error" ? answer.error : null;
  const why = bad && refused(bad);
  const culprit = why ? (why.at ?? (list.length === 1 ? 0 : null)) : null;
  return (
    <div class="stack whatif">
      <div class="row between">
        <h2>{t("whatif.title")}</h2>
        <span class="row">
          {list.length > 0 && (
            <button
              type="button"
              class="btn quiet"
              aria-keyshortcuts="0"
              onClick={() => {
                setOpen(null);
                setOps([]);
              }}
            >
              {t("whatif.reset")}
              <kbd>0</kbd>
            </button>
          )}
          <IconButton icon="close" label={t("shell.close")} shortcut="w" onClick={() => (whatIfOpen.value = false)} />
        </span>
      </div>
      {list.length === 0 && !draft && <p class="note">{t("whatif.intro")}</p>}
      {list.length > 0 && (
        <ul class="whatif-ops">
          {list.map((op, i) => (
            <Row
              key={i}
              op={op}
              card={card}
              manifest={manifest}
              open={open === i}
              reason={why && culprit === i ? why.reason : null}
              toggle={() => setOpen(open === i ? null : i)}
              change={(next) => setParams({ w: encodeOps(list.map((old, j) => (j === i ? next : old))) })}
              remove={() => {
                setOpen(null);
                setOps(list.filter((_, j) => j !== i));
              }}
            />
          ))}
        </ul>
      )}
      {draft ? (
        <Draft op={draft} card={card} manifest={manifest} onChange={setDraft} close={() => setDraft(null)} />
      ) : (
        <Add card={card} choose={(name) => setDraft(begin(name, card, lookedAt(params.value, card)))} />
      )}
      {bad && culprit === null && (
        <p class="note whatif-bad" role="alert">
          {problemText(bad)} {bad.detail}
        </p>
      )}
      {!bad &&
        list.length > 0 &&
        (answer.value ? (
          <div class={answer.status === "loading" ? "stale" : undefined}>
            <Outcome answer={answer.value} />
          </div>
        ) : (
          <Loading height={96} />
        ))}
      {sentence.value.trim() !== "" && <Sweep card={card} />}
    </div>
  );
}

interface RowProps {
  op: Op;
  card: Card;
  manifest: Manifest | null;
  open: boolean;
  /** why the server refused it */
  reason: string | null;
  toggle(): void;
  change(op: Op): void;
  remove(): void;
}

/** One intervention in words; a click opens its fields, and every change of them is tried at once. */
function Row({ op, card, manifest, open, reason, toggle, change, remove }: RowProps) {
  const [now, setNow] = useState(op);
  const given = JSON.stringify(op);
  useEffect(() => setNow(op), [given]);
  useEffect(() => {
    if (JSON.stringify(now) === given || !complete(now)) return;
    const timer = setTimeout(() => change(now), 250);
    return () => clearTimeout(timer);
  }, [now]);
  return (
    <li class={reason ? "refused" : undefined}>
      <div class="whatif-op">
        <button type="button" aria-expanded={open} onClick={toggle} title={t("whatif.edit")}>
          <b>{opName(now.op)}</b>
          <bdi>{opDetails(now, manifest)}</bdi>
        </button>
        <IconButton icon="close" size={15} label={t("whatif.remove", { name: opName(op.op) })} onClick={remove} />
      </div>
      {open && <OpForm op={now} card={card} manifest={manifest} onChange={setNow} />}
      {reason && (
        <p class="note whatif-bad" role="alert">
          {reason}
        </p>
      )}
    </li>
  );
}

function Add({ card, choose }: { card: Card; choose(name: OpName): void }) {
  const items = offered(card).flatMap((group, i): (MenuItem | null)[] => [
    ...(i > 0 ? [null] : []),
    ...group.map((name) => ({ label: opName(name), onSelect: () => choose(name) })),
  ]);
  const why = Object.keys(card.kinds).length === 0 ? t("whatif.no_attention") : undefined;
  return (
    <Menu
      className="btn"
      name={t("whatif.add")}
      items={items}
      why={why}
      button={
        <>
          <Icon name="plus" size={16} />
          {t("whatif.add")}
        </>
      }
    />
  );
}

interface DraftProps {
  op: Op;
  card: Card;
  manifest: Manifest | null;
  onChange(op: Op): void;
  close(): void;
}

function Draft({ op, card, manifest, onChange, close }: DraftProps) {
  const add = () => {
    close();
    setOps([...ops.value, op]);
  };
  return (
    <form
      class="card whatif-draft"
      onSubmit={(event) => {
        event.preventDefault();
        if (complete(op)) add();
      }}
    >
      <h3>{opName(op.op)}</h3>
      <p class="note">{t(`whatif.about_${op.op as OpName}`)}</p>
      <OpForm op={op} card={card} manifest={manifest} onChange={onChange} />
      <div class="row">
        <button type="submit" class="btn primary" disabled={!complete(op)}>
          {t("whatif.try")}
        </button>
        <Button kind="quiet" onClick={close}>
          {t("whatif.cancel")}
        </Button>
      </div>
    </form>
  );
}
