/** Server-sent events, read piece by piece from a text stream. */
export interface ServerEvent {
  readonly event: string;
  readonly data: string;
  readonly id: string;
}

/** A reader that is fed text as it arrives and returns the events that became complete. */
export function eventReader(): (text: string) => ServerEvent[] {
  let buffer = "";
  let id = "";
  return (text) => {
    buffer += text;
    const events: ServerEvent[] = [];
    for (;;) {
      const end = /\r?\n\r?\n/.exec(buffer);
      if (!end) return events;
      const block = buffer.slice(0, end.index);
      buffer = buffer.slice(end.index + end[0].length);
      let event = "message";
      const data: string[] = [];
      for (const line of block.split(/\r?\n/)) {
        const found = /^(event|data|id): ?(.*)$/.exec(line);
        if (!found) continue;
        if (found[1] === "event") event = found[2];
        else if (found[1] === "data") data.push(found[2]);
        else id = found[2];
      }
      if (data.length > 0) events.push({ event, data: data.join("\n"), id });
    }
  };
}
