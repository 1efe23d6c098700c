/** What stands in place of a picture that is empty, on its way, or failed. */
import { createContext, type ComponentChildren } from "preact";
import { useContext, useEffect } from "preact/hooks";
import type { Manifest } from "../api-types";
import type { ApiError } from "../errors";
import type { Resource } from "../hooks";
import { hasMessage, t } from "../i18n";
import { CommandList } from "./Commands";
import { Icon } from "./Icon";
import { Button } from "./controls";

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="state">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

export function Loading({ height = 200 }: { height?: number }) {
  return (
    <div role="status">
      <span class="loading" style={{ height: `${height}px` }} />
      <span class="sr">{t("shell.loading")}</span>
    </div>
  );
}

/** The server's problem in plain words: a known code has its own sentence, the detail follows. */
export function problemText(error: ApiError): string {
  const key = `shell.error_${error.code}`;
  return hasMessage(key) ? t(key) : t("shell.error_internal");
}

/** Told when something cannot be shown because the server lacks PyTorch. */
export const OnLack = createContext<() => void>(() => undefined);

/** The server was installed without what this needs: no fault, and a line that brings it. */
function Lacking({ error }: { error: ApiError }) {
  const told = useContext(OnLack);
  useEffect(told, []);
  return (
    <div class="card">
      <p>{problemText(error)}</p>
      <CommandList commands={[[t("trainer.install"), "pip install 'jumok[train]'"]]} />
    </div>
  );
}

export function Failed({ error, retry }: { error: ApiError; retry?(): void }) {
  if (error.code === "extra_missing") return <Lacking error={error} />;
  return (
    <div class="state" role="alert">
      <Icon name="alert" size={24} />
      <h2>{problemText(error)}</h2>
      {error.detail && error.status !== 0 && <p>{error.detail}</p>}
      {retry && <Button onClick={retry}>{t("shell.retry")}</Button>}
    </div>
  );
}

interface AwaitProps<R> {
  of: Resource<R>;
  height?: number;
  empty?: ComponentChildren;
  children(value: R): ComponentChildren;
}

/** Draws `children(value)` when there is a value, else loading, error or `empty`. A value on reload is drawn faint. */
export function Await<R>({ of, height, empty, children }: AwaitProps<R>) {
  if (of.status === "error" && of.error) return <Failed error={of.error} retry={of.retry} />;
  if (of.value !== null) return <div class={of.status === "loading" ? "stale" : undefined}>{children(of.value)}</div>;
  if (of.status === "loading") return <Loading height={height} />;
  return <>{empty ?? null}</>;
}

/** What went otherwise than asked, such as a text that was cut. */
export const Warnings = ({ of }: { of: Manifest }) => (
  <>
    {of.warnings.map(({ code, message }) => (
      <p key={code} class="note">
        {code === "source_truncated"
          ? t("translate.warning_source_truncated")
          : code === "target_unfinished"
            ? t("translate.not_finished")
            : message}
      </p>
    ))}
  </>
);
