/** Text and formulas of a chapter. */
import { createElement, type ComponentChildren } from "preact";
import type { Formula } from "../lib/lessons";

/** *word* is a term that is explained where it stands; *2:word* has the colour of term 2 of the formula and the figure. */
export const Prose = ({ text }: { text: string }) => (
  <>
    {text.split("*").map((part, i) => {
      if (i % 2 === 0) return part;
      const [, term, word] = /^([1-6]):(.*)$/s.exec(part) ?? [];
      return term ? (
        <b key={i} class={`term-${term}`}>
          {word}
        </b>
      ) : (
        <b key={i}>{part}</b>
      );
    })}
  </>
);

export const Formulas = ({ of, says }: { of: readonly Formula[]; says?: string }) => (
  <div class="learn-formula" tabIndex={0} role="group" aria-label={says}>
    {of.map((formula, i) => (
      <math key={i} display="block">
        {drawn(formula)}
      </math>
    ))}
    {says && <p class="note">{says}</p>}
  </div>
);

function drawn(formula: Formula): ComponentChildren {
  if (typeof formula !== "string") {
    const [tag, ...children] = formula as readonly [string, ...Formula[]];
    const term = /^t([1-6])$/.exec(tag)?.[1];
    return createElement(term ? "mrow" : tag, term ? { class: `term-${term}` } : null, ...children.map(drawn));
  }
  if (/^\d+$/.test(formula)) return <mn>{formula}</mn>;
  if (/^\p{L}/u.test(formula)) return <mi>{formula}</mi>;
  return /^[|<]$/.test(formula) ? (
    <mo lspace="0" rspace="0">
      {formula}
    </mo>
  ) : (
    <mo>{formula}</mo>
  );
}
