/** Who wanted what: the votes of an ensemble's members as rows. */
import type { Votes, VoteStep } from "../api-types";
import type { TableData } from "./csv";

/** A member that would have written another token, and how probable it finds that one. */
export interface Wish {
  readonly member: string;
  readonly text: string;
  readonly p: number;
}

/** What the members would have written in place of the token that was. */
export function wishes(votes: Votes, step: VoteStep): readonly Wish[] {
  return votes.members.flatMap((member, n) => {
    const id = step.favourites[n];
    const found = step.candidates.find((one) => one.id === id);
    return found && id !== step.id ? [{ member: member.name, text: found.text, p: found.members[n]! }] : [];
  });
}

/** The first step at which not all want the same; 0 where they always do. */
export const firstDispute = (votes: Votes): number =>
  Math.max(
    0,
    votes.steps.findIndex((step) => wishes(votes, step).length > 0),
  );

/** A line for each candidate of each step: together, and by member. */
export function votesTable(votes: Votes, words: { step: string; token: string; together: string }): TableData {
  return {
    head: [words.step, words.token, words.together, ...votes.members.map((member) => member.name)],
    rows: votes.steps.flatMap((step, n) => step.candidates.map((one) => [n + 1, one.text, one.p, ...one.members])),
  };
}
