/** The end of a loop among tokens, null where there is none: as src/jumok/decoding/loops.py. */
export function loopEnd(ids: readonly unknown[]): number | null {
  if (ids.length - new Set(ids).size < 9) return null;
  const ends: number[] = [];
  for (let period = 1; period <= Math.min(8, Math.floor(ids.length / 4)); period++) {
    const needed = Math.max(12, 4 * period) - period;
    for (let [place, same] = [period, 0]; place < ids.length; place++) {
      same = ids[place] === ids[place - period] ? same + 1 : 0;
      if (same === needed) {
        ends.push(place + 1);
        break;
      }
    }
  }
  if (ends.length === 0) return null;
  let end = Math.min(...ends);
  while (end < ids.length && Number(ids[end]) >= 132 && Number(ids[end]) < 196) end++;
  return end;
}
