/** Where a glossary is typed; Translate and Documents share it. */
import { t } from "../i18n";
import { params, setParams } from "../state";

/** Terms with a fixed translation; leaving the field, or Enter, writes them into the address. */
export function GlossaryField() {
  return (
    <label class="field glossary-field" title={t("translate.glossary_title")}>
      <span class="small muted">{t("translate.glossary")}</span>
      <input
        type="text"
        class="input"
        maxLength={2000}
        spellcheck={false}
        placeholder={t("translate.glossary_example")}
        value={params.value.g ?? ""}
        onChange={(event) => setParams({ g: event.currentTarget.value.trim() || null }, { push: true })}
      />
    </label>
  );
}
