/** Where the page starts. */
import { effect } from "@preact/signals";
import { render } from "preact";
import { Shell } from "./components/Shell";
import { loadWords, locale, t } from "./i18n";
import { installKeys } from "./keys";
import { screen } from "./state";
import "./styles/base.css";

void loadWords(locale.value).then(() => {
  effect(() => {
    document.documentElement.lang = locale.value;
    document.title = `${t(`shell.screen_${screen.value}`)} · jumok`;
  });
  installKeys();
  render(<Shell />, document.getElementById("app")!);
});
