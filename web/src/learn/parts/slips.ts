/** One wrong token: what can be put in, and who recovered from it. */
import type { Arch, DecoderRun } from "../../api-types";

/** What can be put in for a token: for a digit the next ones, for others what the model finds most probable. */
export function wrongTokens({ tokens }: Pick<DecoderRun, "tokens">, place: number): readonly string[] {
  const right = tokens[place].text;
  if (/^\d$/.test(right)) return Array.from({ length: 9 }, (_, i) => String((Number(right) + 1 + i) % 10));
  return tokens[place].best.map((one) => one.text).filter((one) => one !== right && !/^<.*>$/.test(one));
}

/** Which option describes those who recovered: none, those with attention, all, or another mix. */
export function outcome(recovered: readonly Arch[], all: readonly Arch[]): number {
  if (recovered.length === 0) return 0;
  if (recovered.length === all.length) return 2;
  return all.every((one) => recovered.includes(one) === (one !== "rnn")) ? 1 : 3;
}
