/** Words of the compare screen. */
export const compare = {
  en: { title: "Compare" },
  ko: { title: "비교" },
};
