/** Words of the learn screen. */
export const learn = {
  en: { title: "Learn" },
  ko: { title: "배우기" },
};
