/** Words of the What-if drawer. */
export const whatif = {
  en: { title: "What if" },
  ko: { title: "만약에" },
};
