/** Line icons, 20 × 20, drawn inline. */
const PATHS = {
  translate: "M3 5.5h8M7 3.5v2m2.5 0c-.6 3-2.600 5-5.500 6m2-3.500c.8 1.700 2 2.800 3.500 3.500M10 17l3.500-8.500L17 17m-5.800-2.600h4.600",
  attention: "M3.500 3.500h13v13h-13zM3.500 8h13M3.500 12.300h13M8 3.500v13M12.300 3.500v13",
  inside: "M10 3l7 3.600-7 3.600-7-3.600zM3 10l7 3.600 7-3.600M3 13.400 10 17l7-3.600",
  compare: "M3.500 4h3.400v12H3.500zM8.300 4h3.400v12H8.300zM13.100 4h3.400v12h-3.400z",
  beam: "M4 10h3m0 0 3-5h6M7 10h9M7 10l3 5h6",
  training: "M3 3.500v13h14M5.500 7c1.500 4.500 4 6.200 10.500 6.500",
  quality: "M3 16.500h14M5 16v-5.500m3.400 5.500V5m3.400 11V8m3.400 8v-4",
  learn: "M10 5.500C8 4 5.500 3.700 3 4v11.500c2.500-.3 5 0 7 1.500 2-1.500 4.500-1.800 7-1.500V4c-2.500-.3-5 0-7 1.500zm0 0V17",
  docs: "M7 6l-4 4 4 4m6-8 4 4-4 4m-1.500-10-3 12",
  whatif: "M4 6h8m3 0h1M4 14h1m3 0h8M13.500 4v4M6.500 12v4",
  theme: "M10 3.500a6.500 6.500 0 1 0 0 13zM10 3.500a6.500 6.500 0 0 1 0 13",
  help: "M7.700 7.500A2.400 2.400 0 0 1 10 5.700c1.300 0 2.400.9 2.400 2.200 0 1.700-2.400 2-2.400 3.700m0 2.600v.1",
  link: "M8.500 11.500a3 3 0 0 0 4.300 0l2.800-2.800a3 3 0 0 0-4.300-4.300L10 5.700m1.500 2.800a3 3 0 0 0-4.300 0l-2.800 2.800a3 3 0 0 0 4.300 4.300L10 14.300",
  table: "M3.500 4.500h13v11h-13zM3.500 8.200h13M3.500 11.900h13M8 8.200v7.300",
  export: "M10 3.500v8.500m0-8.500-3 3m3-3 3 3M4 12.500v3.500h12v-3.500",
  copy: "M7 7h9.500v9.500H7zM13 7V3.500H3.500V13H7",
  close: "M5 5l10 10M15 5 5 15",
  check: "M4 10.500l4 4 8-9",
  chevron: "M6 8l4 4 4-4",
  back: "M9 5l-5 5 5 5M4 10h12",
  play: "M6 4l10 6-10 6z",
  pause: "M7 4v12M13 4v12",
  prev: "M12.500 5l-5 5 5 5",
  next: "M7.500 5l5 5-5 5",
  plus: "M10 4v12M4 10h12",
  minus: "M4 10h12",
  swap: "M4 7h11l-3-3m4 9H5l3 3",
  more: "M4.500 10h.1m5.400 0h.1m5.400 0h.1",
  alert: "M10 3.500l7.500 13h-15zM10 8.500v3.700m0 2v.1",
  settings: "M4 6h12M4 10h12M4 14h12",
} as const;
export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 20 }: { name: IconName; size?: number }) {
  const width = name === "more" || name === "help" || name === "alert" ? 1.8 : 1.4;
  return (
    <svg width={size} height={size} viewBox="0 0 20 20" fill="none" stroke="currentColor" stroke-width={width} stroke-linecap="round" stroke-linejoin="round" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
