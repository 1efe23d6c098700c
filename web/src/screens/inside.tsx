/** The Inside screen: attention step by step, all layers, positions, and recurrence, with the model's own numbers. */
import { Tabs } from "../components/controls";
import { NoText } from "../components/NoText";
import { Await } from "../components/states";
import { useTrace } from "../hooks";
import { t } from "../i18n";
import { model, params, setParams } from "../state";
import { AttentionTab } from "./inside/AttentionTab";
import { LayersTab } from "./inside/LayersTab";
import { NeighboursTab } from "./inside/NeighboursTab";
import { PositionsTab } from "./inside/PositionsTab";
import { RecurrenceTab } from "./inside/Recurrence";
import "../styles/inside.css";

const TABS = ["attention", "layers", "positions", "recurrence", "neighbours"] as const;

export function Inside() {
  const trace = useTrace();
  const card = model.value;
  const tab = TABS.find((name) => name === params.value.tab) ?? "attention";
  return (
    <div class="screen inside">
      <header class="screen-head">
        <h1>{t("inside.title")}</h1>
        {(tab !== "attention" || Object.keys(card?.kinds ?? {}).length > 0) && <p class="small">{t(`inside.about_${tab}`)}</p>}
      </header>
      <Tabs
        label={t("inside.title")}
        value={tab}
        onChange={(name) => setParams({ tab: name === "attention" ? null : name }, { push: true })}
        choices={TABS.map((value) => ({ value, label: t(`inside.tab_${value}`) }))}
      />
      <div role="tabpanel" aria-label={t(`inside.tab_${tab}`)}>
        {tab === "positions" ? (
          card && <PositionsTab card={card} />
        ) : (
          <Await of={trace} height={420} empty={<NoText />}>
            {(manifest) =>
              tab === "recurrence" ? (
                <RecurrenceTab manifest={manifest} card={card!} />
              ) : tab === "neighbours" ? (
                <NeighboursTab manifest={manifest} card={card!} />
              ) : tab === "layers" ? (
                <LayersTab manifest={manifest} />
              ) : (
                <AttentionTab manifest={manifest} />
              )
            }
          </Await>
        )}
      </div>
    </div>
  );
}
