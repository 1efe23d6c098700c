/** Words of the beam screen. */
export const beam = {
  en: { title: "Beam" },
  ko: { title: "빔 탐색" },
};
