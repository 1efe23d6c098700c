/** Words of the inside screen. */
export const inside = {
  en: { title: "Inside" },
  ko: { title: "속 보기" },
};
