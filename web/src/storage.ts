/** Small settings kept by the browser; works without them where storage is forbidden. */
const prefix = "jumok.";

export function remembered(key: string): string | null {
  try {
    return localStorage.getItem(prefix + key);
  } catch {
    return null;
  }
}

export function remember(key: string, value: string): void {
  try {
    localStorage.setItem(prefix + key, value);
  } catch {
    // a private window or an exported file: the choice lasts as long as the page
  }
}
