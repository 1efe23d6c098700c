/** The frame of the page: top bar, rail of screens, the screen itself, drawer, banner, help. */
import { useEffect, useState } from "preact/hooks";
import { getTrace, online } from "../api";
import { embedded } from "../embedded";
import { t } from "../i18n";
import { helpOpen } from "../keys";
import { encodeOps, SCREENS } from "../lib/link";
import { bring, drawable, missed, screens } from "../screens";
import {
  badLink,
  go,
  href,
  linkProblem,
  loadModels,
  missingPart,
  model,
  models,
  modelsError,
  ops,
  params,
  route,
  screen,
  seesPictures,
  setParams,
  source,
  whatIfOpen,
} from "../state";
import { FirstRun } from "./FirstRun";
import { Help } from "./Help";
import { Icon } from "./Icon";
import { LookMenu, ModelMenu } from "./Bars";
import { PictureInput } from "./PictureInput";
import { IconButton } from "./controls";
import { Link } from "./Link";
import { Failed, Loading, toast, Toasts } from "./states";
import { LessonNote } from "./LessonNote";
import { PinBar } from "./whatif/PinBar";
import { WhatIf } from "./WhatIf";

export function Shell() {
  useKeptTrace();
  return (
    <div class="shell">
      <a class="sr" href="#main" onClick={toMain}>
        {t("shell.skip")}
      </a>
      <TopBar />
      <Rail />
      <div class="notices">
        <Banner />
        {screens[screen.value].looks && <PinBar />}
        <LessonNote />
      </div>
      <main class="main" id="main" tabIndex={-1}>
        <Body />
      </main>
      <Toasts />
      <Help />
    </div>
  );
}

/** Past the bars, without a word in the address. */
function toMain(event: MouseEvent): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

function TopBar() {
  const { needsModel, looks: asks } = screens[screen.value];
  return (
    <header class="topbar">
      <Link class="brand" href={href("translate")} aria-label={t("shell.home")}>
        jumok
        <i />
      </Link>
      {needsModel && <ModelMenu />}
      {asks && screen.value !== "translate" && (seesPictures.value ? <PictureInput small /> : <SentenceInput />)}
      <div class="tools">
        {asks && embedded && ops.value.length > 0 && <span class="badge warn">{t("whatif.after_n", { n: ops.value.length })}</span>}
        {asks && !embedded && model.value && (
          <button
            type="button"
            class="btn quiet"
            aria-pressed={whatIfOpen.value}
            aria-keyshortcuts="w"
            onClick={() => (whatIfOpen.value = !whatIfOpen.value)}
          >
            <Icon name="whatif" size={18} />
            <span class="wide-only">{t("shell.whatif")}</span>
            {ops.value.length > 0 && (
              <span class="badge count" title={t("whatif.after_n", { n: ops.value.length })}>
                {ops.value.length}
              </span>
            )}
          </button>
        )}
        <LookMenu />
        <IconButton icon="help" label={t("shell.help")} shortcut="?" onClick={() => (helpOpen.value = true)} />
      </div>
    </header>
  );
}

/** The sentence every model screen shows, in the bar of the screens that have no larger input. */
function SentenceInput() {
  const [draft, setDraft] = useState(source.value);
  useEffect(() => setDraft(source.value), [source.value]);
  const commit = () => draft !== source.value && setParams({ s: draft, t: null, px: null, i: null }, { push: true });
  return (
    <form
      class="sentence"
      onSubmit={(event) => {
        event.preventDefault();
        commit();
      }}
    >
      <input
        class="input"
        data-input
        dir="auto"
        type="text"
        lang={model.value?.source_language}
        aria-label={t("shell.sentence")}
        placeholder={t("shell.sentence_hint")}
        value={draft.trim() && draft}
        readOnly={embedded !== null}
        onInput={(event) => setDraft(event.currentTarget.value)}
        onBlur={commit}
      />
    </form>
  );
}

function Rail() {
  return (
    <nav class="rail" aria-label={t("shell.screens")}>
      {SCREENS.filter((name) => !embedded || screens[name].looks).map((name) => (
        <Link
          key={name}
          href={href(name)}
          class={name === "learn" ? "apart" : undefined}
          aria-current={name === screen.value ? "page" : undefined}
        >
          <Icon name={name} />
          <span>{t(`shell.screen_${name}`)}</span>
        </Link>
      ))}
    </nav>
  );
}

function Banner() {
  const problem = linkProblem.value;
  const text = !online.value
    ? t("shell.offline")
    : badLink.value
      ? t("shell.bad_link")
      : problem === "model"
        ? t("shell.link_model", { asked: params.value.m ?? "", shown: model.value?.name ?? "" })
        : problem === "fingerprint"
          ? t("shell.link_fingerprint")
          : problem === "part"
            ? t("shell.link_part", { asked: missingPart.value ?? "" })
            : null;
  if (text === null) return null;
  return (
    <div class="banner" role="alert">
      <Icon name="alert" size={18} />
      <span class="grow">{text}</span>
      {problem && online.value && (
        <IconButton
          icon="close"
          label={t("shell.close")}
          onClick={() => setParams({ f: null, m: model.value?.name, ...(problem === "part" ? { k: null, l: null, h: null } : {}) })}
        />
      )}
    </div>
  );
}

/** `/t/{id}`: a trace that the server keeps; its model and texts become the address. */
function useKeptTrace(): void {
  const id = /^t\/([\w-]+)$/.exec(route.value.rest)?.[1];
  useEffect(() => {
    if (!id) return;
    getTrace(id).then(
      (kept) =>
        go("translate", {
          m: kept.model.name,
          s: kept.source.text,
          t: kept.target.text,
          w: encodeOps(kept.interventions.map((op) => ({ ...op }))),
        }),
      () => toast(t("shell.error_unknown_trace")),
    );
  }, [id]);
}

function Body() {
  const name = screen.value;
  const { needsModel, looks } = screens[name];
  const Screen = drawable.value[name];
  useEffect(() => {
    // at once where it is needed, else when the page has settled
    const timer = setTimeout(() => void bring(name), Screen ? 1000 : 0);
    return () => clearTimeout(timer);
  }, [name]);
  if (needsModel && models.value === null) {
    const error = modelsError.value;
    return <div class="screen">{error ? <Failed error={error} retry={() => void loadModels()} /> : <Loading height={320} />}</div>;
  }
  if (needsModel && models.value?.length === 0) return <FirstRun />;
  if (!Screen)
    return (
      <div class="screen">{missed.value ? <Failed error={missed.value} retry={() => void bring(name)} /> : <Loading height={320} />}</div>
    );
  return (
    <>
      <Screen />
      {looks && whatIfOpen.value && (
        <aside class="drawer" aria-label={t("shell.whatif")}>
          <WhatIf />
        </aside>
      )}
    </>
  );
}
