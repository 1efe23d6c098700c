/** Line icons, 20 × 20, drawn inline. */
const PATHS = {
  translate: "M3 5.5h8M7 3.5v2m2.5 0c-.6 3-2.6 5-5.5 6m2-3.5c.8 1.7 2 2.8 3.5 3.5M10 17l3.5-8.5L17 17m-5.8-2.6h4.6",
  documents: "M5 3h6.5L15.5 7v10H5zM11.5 3v4h4M7.5 10.3h5.5M7.5 13.3h5.5",
  chat: "M3.5 4.5h13v9H9l-3.5 3v-3h-2zM6.5 7.5h7M6.5 10.3h4.5",
  map: "M3.5 5h2.5M3.5 10h2.5M3.5 15h2.5M6 5c4 0 4 5 8 5M6 10h8M6 15c4 0 4-5 8-5M14 7.5h2.5v5H14z",
  attention: "M3.5 3.5h13v13h-13zM3.5 8h13M3.5 12.3h13M8 3.5v13M12.3 3.5v13",
  inside: "M10 3l7 3.6-7 3.6-7-3.6zM3 10l7 3.6 7-3.6M3 13.4 10 17l7-3.6",
  compare: "M3.5 4h3.4v12H3.5zM8.3 4h3.4v12H8.3zM13.1 4h3.4v12h-3.4z",
  beam: "M4 10h3m0 0 3-5h6M7 10h9M7 10l3 5h6",
  training: "M3 3.5v13h14M5.5 7c1.5 4.5 4 6.2 10.5 6.5",
  quality: "M3 16.5h14M5 16v-5.5m3.4 5.5V5m3.4 11V8m3.4 8v-4",
  learn: "M10 5.5C8 4 5.5 3.7 3 4v11.5c2.5-.3 5 0 7 1.5 2-1.5 4.5-1.8 7-1.5V4c-2.5-.3-5 0-7 1.5zm0 0V17",
  docs: "M7 6l-4 4 4 4m6-8 4 4-4 4m-1.5-10-3 12",
  whatif: "M4 6h8m3 0h1M4 14h1m3 0h8M13.5 4v4M6.5 12v4",
  theme: "M10 3.5a6.5 6.5 0 1 0 0 13zM10 3.5a6.5 6.5 0 0 1 0 13",
  help: "M7.7 7.5A2.4 2.4 0 0 1 10 5.7c1.3 0 2.4.9 2.4 2.2 0 1.7-2.4 2-2.4 3.7m0 2.6v.1",
  link: "M8.5 11.5a3 3 0 0 0 4.3 0l2.8-2.8a3 3 0 0 0-4.3-4.3L10 5.7m1.5 2.8a3 3 0 0 0-4.3 0l-2.8 2.8a3 3 0 0 0 4.3 4.3L10 14.3",
  table: "M3.5 4.5h13v11h-13zM3.5 8.2h13M3.5 11.9h13M8 8.2v7.3",
  export: "M10 3.5v8.5m0-8.5-3 3m3-3 3 3M4 12.5v3.5h12v-3.5",
  download: "M10 3.5V12m0 0-3-3m3 3 3-3M4 12.5v3.5h12v-3.5",
  image: "M3.5 4h13v12h-13zM3.5 13.5l4-4 3.5 3.5 2-2 3.5 3M12.7 7.6h.1",
  again: "M15.6 6.6A6.5 6.5 0 1 0 16.5 10M16 3.5v3.3h-3.3",
  copy: "M7 7h9.5v9.5H7zM13 7V3.5H3.5V13H7",
  close: "M5 5l10 10M15 5 5 15",
  check: "M4 10.5l4 4 8-9",
  chevron: "M6 8l4 4 4-4",
  back: "M9 5l-5 5 5 5M4 10h12",
  play: "M6 4l10 6-10 6z",
  pause: "M7 4v12M13 4v12",
  prev: "M12.5 5l-5 5 5 5",
  next: "M7.5 5l5 5-5 5",
  plus: "M10 4v12M4 10h12",
  minus: "M4 10h12",
  swap: "M4 7h11l-3-3m4 9H5l3 3",
  more: "M4.5 10h.1m5.4 0h.1m5.4 0h.1",
  alert: "M10 3.5l7.5 13h-15zM10 8.5v3.7m0 2v.1",
  settings: "M4 6h12M4 10h12M4 14h12",
} as const;
export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 20 }: { name: IconName; size?: number }) {
  const width = name === "more" || name === "help" || name === "alert" ? 1.8 : 1.4;
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 20 20"
      fill="none"
      stroke="currentColor"
      stroke-width={width}
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
