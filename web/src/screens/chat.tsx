/** The Chat screen: one question, one answer, drawn by chance or searched for; a click on an answer shows where it looked. */
import { useEffect, useState } from "preact/hooks";
import { t } from "../i18n";
import { follow as toScreen, href, model, params, seesPictures } from "../state";
import { Empty } from "../components/states";
import { Look } from "./chat_parts/Look";
import { SettingsBar } from "./chat_parts/Settings";
import { Composer, Talk } from "./chat_parts/Talk";
import { asked, follow, settingsOf } from "./chat_parts/turns";
import "../styles/chat.css";

export function Chat() {
  const [settings, setSettings] = useState(() => settingsOf(params.value, model.value));
  const key = asked.value?.key;
  // an exchange of the address brings its settings along
  useEffect(() => {
    if (asked.value) setSettings(asked.value.settings);
    follow();
  }, [key]);
  return (
    <div class="screen chat">
      <header class="screen-head">
        <h1>{t("chat.title")}</h1>
        <p class="small">{t("chat.intro")}</p>
      </header>
      {seesPictures.value ? (
        <Elsewhere />
      ) : (
        <>
          <SettingsBar value={settings} onChange={setSettings} />
          <div class="chat-body">
            <div class="stack chat-side">
              <Talk settings={settings} />
              <Composer settings={settings} />
            </div>
            <Look />
          </div>
        </>
      )}
    </div>
  );
}

/** A model that reads pictures has no ear for questions. */
const Elsewhere = () => (
  <div class="card">
    <Empty title={t("chat.pictures")}>
      <a class="btn" href={href("translate")} onClick={toScreen}>
        {t("shell.screen_translate")}
      </a>
    </Empty>
  </div>
);
