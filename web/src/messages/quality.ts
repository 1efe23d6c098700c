/** Words of the quality screen. */
export const quality = {
  en: { title: "Quality" },
  ko: { title: "품질" },
};
