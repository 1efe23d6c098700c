/** One segment: its source, and its translation, which a click opens for mending. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { editSegment } from "../../api";
import type { SegmentOut } from "../../api-types";
import { Badge, Button } from "../../components/controls";
import { Doubted } from "../../components/Doubted";
import { problemText } from "../../components/states";
import { toast } from "../../components/toasts";
import { problemOf } from "../../errors";
import { t } from "../../i18n";
import { markedPieces } from "../../lib/doubts";
import { models } from "../../state";

interface RowProps {
  id: string;
  model: string;
  row: SegmentOut;
  count: number;
  onEdit(next: SegmentOut): void;
}

export function Row({ id, model, row, count, onEdit }: RowProps) {
  const [editing, setEditing] = useState(false);
  const opener = useRef<HTMLButtonElement>(null);
  const card = models.value?.find((one) => one.name === model);
  const end = () => {
    setEditing(false);
    requestAnimationFrame(() => opener.current?.focus());
  };
  const save = async (text: string) => {
    if (text === (row.target ?? "")) return end();
    try {
      onEdit(await editSegment(id, row.n, text));
      end();
    } catch (error) {
      toast(problemText(problemOf(error))); // what was written stays open
    }
  };
  const kind = row.edited ? " edited" : row.doubts.length + row.words.length > 0 ? " doubtful" : "";
  return (
    <div class={`documents-row${kind}`} role="listitem" aria-setsize={count} aria-posinset={row.n + 1}>
      <span class="documents-where faint">{row.where}</span>
      <p class="documents-text" dir="auto" lang={card?.source_language}>
        {row.source}
      </p>
      <div>
        {editing ? (
          <Editor row={row} lang={card?.target_language} onSave={save} onDiscard={end} />
        ) : (
          <button
            ref={opener}
            type="button"
            class="documents-text documents-target"
            dir="auto"
            lang={card?.target_language}
            title={row.outcome === "skipped" ? t("documents.skipped") : t("documents.edit", { n: row.n + 1 })}
            onClick={() => setEditing(true)}
          >
            {row.target === null ? (
              <span class="faint">{row.outcome === null ? t("documents.turn") : row.source}</span>
            ) : (
              markedPieces(row.target, null, row.words).map(({ text, change }, n) =>
                change === null ? (
                  text
                ) : (
                  <Doubted key={n} change={change}>
                    {text}
                  </Doubted>
                ),
              )
            )}
          </button>
        )}
        <Notes row={row} />
      </div>
    </div>
  );
}

/** What there is to say about a translation. */
function Notes({ row }: { row: SegmentOut }) {
  const other = row.outcome === "present" ? t("documents.present") : null;
  if (!row.edited && row.doubts.length + row.words.length === 0 && other === null) return null;
  return (
    <span class="row documents-notes">
      {row.edited && <span class="chip on">{t("documents.edited")}</span>}
      {row.doubts.map((doubt) => (
        <Badge key={doubt} tone="warn">
          {doubt}
        </Badge>
      ))}
      {row.words.length > 0 && <span class="small faint">{t("documents.words", { n: row.words.length })}</span>}
      {other !== null && !row.edited && <span class="small faint">{other}</span>}
    </span>
  );
}

interface EditorProps {
  row: SegmentOut;
  lang: string | undefined;
  onSave(text: string): Promise<void>;
  onDiscard(): void;
}

function Editor({ row, lang, onSave, onDiscard }: EditorProps) {
  const [text, setText] = useState(row.target ?? "");
  const [busy, setBusy] = useState(false);
  const area = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => {
    area.current?.focus(); // before the next key is pressed
    area.current?.setSelectionRange(text.length, text.length);
  }, []);
  const save = async () => {
    setBusy(true);
    await onSave(text);
    setBusy(false);
  };
  const press = (event: KeyboardEvent) => {
    if (event.isComposing) return; // Hangul and the like are still being put together
    if (event.key === "Escape") onDiscard();
    else if (event.key === "Enter" && !event.shiftKey) void save();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="documents-editor">
      <textarea
        ref={area}
        class="input"
        rows={2}
        dir="auto"
        lang={lang}
        maxLength={100_000}
        aria-label={t("documents.edit", { n: row.n + 1 })}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={press}
      />
      <div class="row">
        <span class="small faint wide-only grow">{t("documents.edit_hint")}</span>
        <Button kind="primary" disabled={busy} onClick={() => void save()}>
          {t("documents.save")}
        </Button>
        <Button kind="quiet" onClick={onDiscard}>
          {t("documents.discard")}
        </Button>
      </div>
    </div>
  );
}
