/** What is usual for a model, as the files beside it say: its scores, and (a twin of src/jumok/text/novelty.py) its texts. */
import type { TraceNovelty } from "../api-types";

const [PLACES, LEAST_UNSEEN, CALM] = [4, 2, 4];

/** Bits of a number spread over all of it. */
function mixed(x: number): number {
  const once = Math.imul(x ^ (x >>> 15), 0x2c1b3c6d);
  const twice = Math.imul(once ^ (once >>> 12), 0x297a2d39);
  return twice ^ (twice >>> 15);
}

export class Novelty {
  /** `usual`: what 99 of 100 validation sentences do not exceed */
  private constructor(
    private readonly bits: Uint8Array,
    private readonly usual: number,
  ) {}

  /** What `novelty.json` holds for a model with these weights; null where it is of others, or damaged. */
  static parse(text: string, weights: string): Novelty | null {
    try {
      const fields = JSON.parse(text);
      if (fields.schema !== "jumok-novelty/1" || fields.weights !== weights || typeof fields.usual !== "number") return null;
      const bits = Uint8Array.from(atob(fields.filter), (char) => char.charCodeAt(0));
      return bits.length > 0 && (bits.length & (bits.length - 1)) === 0 ? new Novelty(bits, fields.usual) : null;
    } catch {
      return null;
    }
  }

  /** The pairs of neighbours among these ids, and those that never stood together in training. */
  count(ids: readonly number[]): TraceNovelty {
    const pairs = Math.max(0, ids.length - 1);
    const unseen = ids.slice(1).filter((right, i) => !this.has(ids[i], right)).length;
    return { pairs, unseen, strange: unseen >= LEAST_UNSEEN && unseen / (pairs + CALM) > this.usual };
  }

  private has(left: number, right: number): boolean {
    const first = mixed((Math.imul(left, 0x9e3779b1) + Math.imul(right, 0x85ebca6b)) | 0);
    const second = mixed((first + 0x9e3779b9) | 0) | 1;
    const last = 8 * this.bits.length - 1;
    for (let i = 0; i < PLACES; i++) {
      const place = (first + Math.imul(i, second)) & last;
      if (!((this.bits[place >> 3] >> (place & 7)) & 1)) return false;
    }
    return true;
  }
}

/** What 99 of 100 validation sentences score at least, as the calibration of these weights says. */
export function lowestScore(calibration: string, weights: string): number | null {
  try {
    const fields = JSON.parse(calibration);
    const lowest: unknown = fields.weights === weights ? fields.fitted.lowest_score : null;
    return typeof lowest === "number" ? lowest : null;
  } catch {
    return null;
  }
}
