/** Where the page starts. */
import { effect } from "@preact/signals";
import { options, render } from "preact";
import { Shell } from "./components/Shell";
import { loadWords, locale, t } from "./i18n";
import { installKeys } from "./keys";
import { local } from "./local/site";
import { screen } from "./state";
import "./styles/base.css";

/** A model may give its languages any names, such as iso8601; only a language tag becomes a `lang`. */
const made = options.vnode;
options.vnode = (vnode) => {
  const props = vnode.props as { lang?: string };
  if (props.lang && !/^[a-z]{2,3}(-|$)/i.test(props.lang)) props.lang = undefined;
  made?.(vnode);
};

void loadWords(locale.value).then(() => {
  effect(() => {
    document.documentElement.lang = locale.value;
    document.title = `${t(`shell.screen_${screen.value}`)} · jumok`;
  });
  installKeys();
  if (local) void import("./local/drop").then(({ install }) => install());
  render(<Shell />, document.getElementById("app")!);
});
