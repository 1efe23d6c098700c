/** Model folders that are dropped onto a page without a server, or chosen: read here, opened in the worker, sent nowhere. */
import { problemText } from "../components/states";
import { toast } from "../components/toasts";
import { problemOf } from "../errors";
import { t } from "../i18n";
import { loadModels, setParams, source } from "../state";
import { LARGEST } from "./model";
import { addFolder } from "./transport";

type Found = { readonly name: string; readonly files: readonly File[] };

/** Takes folders that are dropped anywhere on the page, and lets a browser keep the site for when there is no network. */
export function install(): void {
  addEventListener("dragover", (event) => {
    if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
  });
  addEventListener("drop", (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
    void filesOf(entries).then(open);
  });
  // when the first answer is there: what it keeps is all of the site
  if (location.protocol !== "file:" && "serviceWorker" in navigator && isSecureContext)
    setTimeout(() => navigator.serviceWorker.register("sw.js").catch(() => undefined), 2000); // it works without
}

/** Asks for a folder with the browser's own dialog. */
export function choose(): void {
  const input = Object.assign(document.createElement("input"), { type: "file", webkitdirectory: true, multiple: true });
  input.onchange = () => {
    const files = [...(input.files ?? [])];
    void open({ name: files[0]?.webkitRelativePath.split("/")[0] || "model", files });
  };
  input.click();
}

async function filesOf(entries: readonly FileSystemEntry[]): Promise<Found> {
  const file = (entry: FileSystemFileEntry) => new Promise<File>((done, fail) => entry.file(done, fail));
  const inside = (folder: FileSystemDirectoryEntry) => {
    const reader = folder.createReader();
    return new Promise<FileSystemEntry[]>((done, fail) => reader.readEntries(done, fail)); // the first hundred: a model has ten
  };
  const all: FileSystemEntry[] = [];
  for (const entry of entries) all.push(...(entry.isDirectory ? await inside(entry as FileSystemDirectoryEntry) : [entry]));
  const files = await Promise.all(all.filter((entry) => entry.isFile).map((entry) => file(entry as FileSystemFileEntry)));
  return { name: entries[0]?.name ?? "model", files };
}

async function open({ name, files }: Found): Promise<void> {
  if (files.length === 0) return;
  try {
    const size = files.reduce((sum, file) => sum + file.size, 0);
    if (size > LARGEST) return toast(t("shell.error_too_large"));
    toast(t("shell.opening", { name }));
    const read = await Promise.all(files.map(async (file) => [file.name, new Uint8Array(await file.arrayBuffer())] as const));
    const model = await addFolder(name, new Map(read));
    const text = source.value; // the model brings no examples
    await loadModels();
    setParams({ m: model, s: text, t: null, w: null, k: null, l: null, h: null, f: null }, { push: true });
    toast(t("shell.opened", { name: model }));
  } catch (error) {
    const problem = problemOf(error);
    toast(`${problemText(problem)}: ${problem.detail}`);
  }
}
