/** Words of the docs screen. */
export const docs = {
  en: { title: "HTTP API" },
  ko: { title: "HTTP API" },
};
