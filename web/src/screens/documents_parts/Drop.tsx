/** Where a file is dropped or chosen. */
import { useRef, useState } from "preact/hooks";
import { getDocuments, postDocument } from "../../api";
import { GlossaryField } from "../../components/GlossaryField";
import { useDropping } from "../../components/dropping";
import { Icon } from "../../components/Icon";
import { Button } from "../../components/controls";
import { Empty, Failed } from "../../components/states";
import { problemOf, type ApiError } from "../../errors";
import { useResource } from "../../hooks";
import { locale, t } from "../../i18n";
import { glossaryLines } from "../../lib/glossary";
import { sizeText } from "../../lib/sizes";
import { glossary, model, seesPictures } from "../../state";
import { keep, open } from "./ids";

export function Drop() {
  const [sending, setSending] = useState<string | null>(null);
  const [error, setError] = useState<string | ApiError | null>(null);
  const [over, setOver] = useState(false);
  const file = useRef<HTMLInputElement>(null);
  const formats = useResource("formats", (signal) => getDocuments([], signal).then((found) => found.formats), { cache: true });
  const most = model.value?.limits.document_bytes ?? 0;
  const size = (bytes: number) => sizeText(bytes, locale.value);

  /** Sends files one after the other; one alone is then shown, several are in the list below. */
  const take = async (files: readonly File[]) => {
    setError(null);
    for (const one of files) {
      if (one.size > most) return setError(t("documents.too_large", { name: one.name, size: size(one.size), limit: size(most) }));
      if (one.size === 0) return setError(t("documents.empty", { name: one.name }));
      setSending(one.name);
      try {
        const { id } = await postDocument(one, model.value!.name, glossaryLines(glossary.value));
        keep(id);
        if (files.length === 1) open(id);
      } catch (problem) {
        return setError(problemOf(problem));
      } finally {
        setSending(null);
      }
    }
  };
  useDropping(setOver, (found) => (found ? void take(found) : setError(t("documents.folder"))));

  if (seesPictures.value)
    return (
      <div class="card">
        <Empty title={t("chat.pictures")} />
      </div>
    );
  const names = (formats.value ?? []).map((one) => one.name).join(", ");
  return (
    <section class={`card documents-drop${over ? " over" : ""}`} aria-busy={sending !== null} aria-label={t("documents.drop")}>
      <Icon name="documents" size={36} />
      <p class="documents-big">
        {sending !== null ? t("documents.sending", { name: sending }) : over ? t("documents.drop_now") : t("documents.drop")}
      </p>
      <Button kind="primary" data-input disabled={sending !== null} onClick={() => file.current?.click()}>
        {t("documents.choose")}
      </Button>
      <input
        ref={file}
        type="file"
        hidden
        multiple
        aria-label={t("documents.choose")}
        onChange={(event) => {
          const found = [...(event.currentTarget.files ?? [])];
          event.currentTarget.value = "";
          void take(found);
        }}
      />
      <GlossaryField />
      {names && <p class="small muted">{t("documents.formats", { formats: names, size: size(most) })}</p>}
      <p class="small faint">{t("documents.stays")}</p>
      {error !== null &&
        (typeof error === "string" ? (
          <p class="documents-error" role="alert">
            {error}
          </p>
        ) : (
          <Failed error={error} />
        ))}
    </section>
  );
}
