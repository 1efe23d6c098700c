/** Words of the training screen. */
export const training = {
  en: { title: "Training" },
  ko: { title: "학습" },
};
