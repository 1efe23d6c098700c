/** Short words that go by themselves, such as that something was copied. */
import { signal } from "@preact/signals";

const toasts = signal<readonly { id: number; text: string }[]>([]);
let made = 0;

/** Says something for three seconds. */
export function toast(text: string): void {
  const id = ++made;
  toasts.value = [...toasts.value, { id, text }];
  setTimeout(() => (toasts.value = toasts.value.filter((entry) => entry.id !== id)), 3000);
}

export function Toasts() {
  return (
    <div class="toasts" role="status">
      {toasts.value.map((entry) => (
        <div key={entry.id} class="toast">
          {entry.text}
        </div>
      ))}
    </div>
  );
}
