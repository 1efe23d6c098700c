/** Menus of the top bar: the model, and look and language. */
import { languagesOf, locale, setLocale, t } from "../i18n";
import { local } from "../local/site";
import { density, model, models, setParams, theme } from "../state";
import { choices, Segmented } from "./controls";
import { Icon } from "./Icon";
import { Menu, type MenuItem, Popover } from "./Popover";

export function ModelMenu() {
  const now = model.value;
  const items: MenuItem[] = (models.value ?? []).map((card) => ({
    label: card.name,
    hint: t(`shell.arch_${card.arch}`),
    checked: card.name === now?.name,
    onSelect: () =>
      setParams({ m: card.name, ms: null, t: null, px: null, w: null, l: null, h: null, k: null, q: null, j: null }, { push: true }),
  }));
  if (local)
    items.push({
      label: t("shell.open_folder"),
      hint: t("shell.open_hint"),
      onSelect: () => void import("../local/drop").then(({ choose }) => choose()),
    });
  return (
    <Menu
      id="model-button"
      className="btn quiet model-button"
      items={items}
      disabled={!now}
      why={now ? [languagesOf(now), t("shell.parameters", { n: now.parameters })].filter(Boolean).join(", ") : undefined}
      button={
        <>
          <span class="sr">{t("shell.model")}</span>
          <span class="clip">{now?.name ?? (models.value ? t("shell.no_model") : "…")}</span>
          <Icon name="chevron" size={14} />
        </>
      }
    />
  );
}

export function LookMenu() {
  return (
    <Popover className="btn quiet icon" name={t("shell.look")} button={<Icon name="theme" size={18} />}>
      <div class="stack look">
        <div>
          <h3>{t("shell.theme_label")}</h3>
          <Segmented
            label={t("shell.theme_label")}
            value={theme.value}
            onChange={(value) => (theme.value = value)}
            choices={choices(["system", "light", "dark"], (value) => t(`shell.theme_${value}`))}
          />
        </div>
        <div>
          <h3>{t("shell.interface")}</h3>
          <Segmented label={t("shell.interface")} value={locale.value} onChange={(value) => void setLocale(value)} choices={LANGUAGES} />
        </div>
        <div>
          <h3>{t("shell.density")}</h3>
          <Segmented
            label={t("shell.density")}
            value={density.value}
            onChange={(value) => (density.value = value)}
            choices={choices(["comfortable", "compact"], (value) => t(`shell.density_${value}`))}
          />
        </div>
      </div>
    </Popover>
  );
}

/** Each language by its own name, whatever the language of the interface. */
const LANGUAGES = [
  { value: "en", label: "English" },
  { value: "ko", label: "한국어" },
] as const;
