/** Which models stand side by side, and where a sentence is cut to see how it grows. */
import type { Arch } from "../api-types";

interface Named {
  readonly name: string;
  readonly arch: Arch;
  readonly source_language: string;
  readonly target_language: string;
}

const ORDER: readonly Arch[] = ["rnn", "luong", "transformer"];
export const MOST_MODELS = 3;

/** Order of columns: by architecture, then by name. */
export const inOrder = <M extends Named>(cards: readonly M[]): M[] =>
  [...cards].sort((a, b) => ORDER.indexOf(a.arch) - ORDER.indexOf(b.arch) || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));

/** Whether two models translate from the same language into the same. */
export const sameWay = (one: Named, other: Named): boolean =>
  one.source_language === other.source_language && one.target_language === other.target_language;

/** The models of each direction, in the order in which directions first occur. */
export function byDirection<M extends Named>(cards: readonly M[]): M[][] {
  const groups: M[][] = [];
  for (const card of cards) {
    const group = groups.find(([first]) => sameWay(first, card));
    if (group) group.push(card);
    else groups.push([card]);
  }
  return groups;
}

/** The models of a comma list that are loaded; without two of them, up to three that translate as `like` does, one per architecture first. */
export function chosenModels<M extends Named>(list: string | undefined, cards: readonly M[], like: Named | null): M[] {
  const named = (list ?? "").split(",").map((name) => cards.find((card) => card.name === name));
  const asked = [...new Set(named.filter((card) => card !== undefined))].slice(0, MOST_MODELS);
  if (asked.length >= 2) return inOrder(asked);
  const fit = inOrder(cards.filter((card) => !like || sameWay(card, like)));
  const first = fit.filter((card, i) => fit.findIndex((other) => other.arch === card.arch) === i);
  return inOrder([...first, ...fit.filter((card) => !first.includes(card))].slice(0, MOST_MODELS));
}

/** Names after a click on a model: those of its direction with it switched, or, where fewer than two of them are compared, a new set of its direction. */
export function switched<M extends Named>(chosen: readonly M[], all: readonly M[], card: M): string[] {
  const kin = chosen.filter((one) => sameWay(one, card));
  if (kin.length >= 2)
    return toggled(
      kin.map((one) => one.name),
      card.name,
    );
  const others = chosenModels(undefined, all, card).filter((one) => one !== card);
  return inOrder([card, ...others].slice(0, MOST_MODELS)).map((one) => one.name);
}

/** The list after switching one model on or off; never fewer than two, never more than three (the oldest of the others leaves). */
export function toggled(names: readonly string[], name: string): string[] {
  if (!names.includes(name)) return [...names.slice(Math.max(0, names.length - MOST_MODELS + 1)), name];
  return names.length > 2 ? names.filter((other) => other !== name) : [...names];
}

const MOST_CUTS = 12;

/** Numbers of words to cut after: every one of a short sentence, else even steps; the whole always. */
export function cutsOf(words: number): number[] {
  if (words < 2) return [];
  const step = Math.max(1, Math.ceil(words / MOST_CUTS));
  const cuts: number[] = [];
  for (let n = step; n < words; n += step) cuts.push(n);
  return [...cuts, words];
}

/** A word of a source that ends in the middle of a character: its broken end as an ellipsis. */
export const whole = (word: string): string => word.replace(/\ufffd+/g, "…");

/** Whether an answer is the reference, white space aside. */
export const sameText = (answer: string, reference: string): boolean =>
  answer.trim().split(/\s+/u).join(" ").normalize() === reference.trim().split(/\s+/u).join(" ").normalize();
