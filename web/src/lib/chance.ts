/** Random numbers that come out again: the same seed gives the same numbers in every browser. */

/** Numbers from 0 up to 1 (mulberry32). */
export function uniform(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), 1 | state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 4294967296;
  };
}

/** Numbers of mean 0 and variance 1 (Box and Muller), both of a pair. */
export function normal(seed: number): () => number {
  const draw = uniform(seed);
  let kept: number | null = null;
  return () => {
    if (kept !== null) {
      const value = kept;
      kept = null;
      return value;
    }
    const [radius, angle] = [Math.sqrt(-2 * Math.log(1 - draw())), 2 * Math.PI * draw()];
    kept = radius * Math.sin(angle);
    return radius * Math.cos(angle);
  };
}
