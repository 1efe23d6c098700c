/** Commands to copy, each with what it does. */
import { t } from "../i18n";
import { IconButton } from "./controls";
import { toast } from "./toasts";
import "../styles/commands.css";

export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

export function CommandList({ commands }: { commands: readonly (readonly [string, string])[] }) {
  const copy = async (text: string) => {
    await copyText(text);
    toast(t("shell.copied"));
  };
  return (
    <ul class="commands">
      {commands.map(([text, command]) => (
        <li key={command}>
          <span class="small muted">{text}</span>
          <span class="command">
            <code>{command}</code>
            <IconButton icon="copy" label={t("shell.copy")} onClick={() => void copy(command)} />
          </span>
        </li>
      ))}
    </ul>
  );
}
