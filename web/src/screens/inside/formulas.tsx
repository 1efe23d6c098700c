/** Formulas in MathML with the colours of the panels; the part of the current stage stands out. */
import type { ComponentChildren } from "preact";
import { t } from "../../i18n";
import type { Stage } from "./head";

export type Tone = "q" | "k" | "v" | "s" | "o";
const i = (text: string, tone?: Tone) => <mi class={tone && `tone-${tone}`}>{text}</mi>;
const o = (text: string) => <mo>{text}</mo>;
const n = (text: string | number) => <mn>{text}</mn>;
const word = (text: string) => <mi mathvariant="normal">{text}</mi>;
const sub = (base: ComponentChildren, below: ComponentChildren) => (
  <msub>
    {base}
    {below}
  </msub>
);
const sup = (base: ComponentChildren, above: ComponentChildren) => (
  <msup>
    {base}
    {above}
  </msup>
);
const row = (...parts: ComponentChildren[]) => <mrow>{parts}</mrow>;
const dk = () => sub(i("d"), i("k"));
const root = () => <msqrt>{dk()}</msqrt>;

export function Maths({ children, label, display }: { children: ComponentChildren; label?: string; display?: boolean }) {
  return (
    <math display={display ? "block" : "inline"} aria-label={label}>
      {children}
    </math>
  );
}

/** What one stage does, short enough for a step. */
export function StageFormula({ stage, luong, copy, score }: { stage: Stage; luong: boolean; copy: boolean; score: string | null }) {
  const [s, h] = [sub(i("s", "q"), i("t")), sub(i("h", "k"), i("j"))];
  const parts: Record<Stage, ComponentChildren> = {
    1: luong ? luongScore(score, s, h) : row(i("Q", "q"), o("·"), sup(i("K", "k"), i("T"))),
    2: row(o("÷"), root()),
    7: row(o("+"), i("B")),
    3: row(o("+"), i("M")),
    4: word("softmax"),
    5: row(o("·"), luong || copy ? i("H", "v") : i("V", "v")),
    6: luong ? row(word("tanh"), sub(i("W"), i("c"))) : copy ? row(n(1), o("−"), i("σ")) : row(o("·"), sup(i("W"), i("O"))),
  };
  return <Maths>{parts[stage]}</Maths>;
}

function luongScore(score: string | null, s: ComponentChildren, h: ComponentChildren): ComponentChildren {
  const W = sub(i("W"), i("a"));
  if (score === "general") return row(s, W, sup(h, i("T")));
  if (score === "concat") return row(sup(sub(i("v"), i("a")), i("T")), word("tanh"), o("("), W, o("["), s, o(";"), h, o("])"));
  return row(s, sup(h, i("T")));
}

interface WholeFormulaProps {
  stage: Stage;
  luong: boolean;
  copy: boolean;
  unscaled: boolean;
  biased: boolean;
  score: string | null;
  heads: number;
}

/** The whole of attention in one line; what the stage does not touch is faint. */
export function WholeFormula({ stage, luong, copy, unscaled, biased, score, heads }: WholeFormulaProps) {
  const on = (...stages: Stage[]) => (stages.includes(stage) ? "on" : "off");
  const part = (content: ComponentChildren, ...stages: Stage[]) => <mrow class={on(...stages)}>{content}</mrow>;
  const open = <mo class={on(4)}>{"("}</mo>;
  const close = <mo class={on(4)}>{")"}</mo>;
  const softmax = part(word("softmax"), 4);
  const plain = unscaled ? (biased ? "inside.formula_dot_bias" : "inside.formula_dot") : biased ? "inside.formula_bias" : "inside.formula";
  const label = t(luong ? "inside.formula_luong" : copy ? "inside.formula_copy" : plain);
  if (luong) {
    const [s, h] = [sub(i("s", "q"), i("t")), i("H", "k")];
    return (
      <Maths label={label} display>
        <mrow class="whole">
          {part(
            row(
              sub(
                <mover>
                  {i("s", "o")}
                  {o("~")}
                </mover>,
                i("t"),
              ),
              o("="),
            ),
            6,
          )}
          {part(row(word("tanh"), o("("), sub(i("W"), i("c")), o("[")), 6)}
          {softmax}
          {open}
          {part(luongScore(score, s, h), 1)}
          {close}
          {part(i("H", "v"), 5)}
          {part(row(o(";"), s, o("]"), o(")")), 6)}
        </mrow>
      </Maths>
    );
  }
  const product = row(i("Q", "q"), sup(i("K", "k"), i("T")));
  return (
    <Maths label={label} display>
      <mrow class="whole">
        {copy && part(row(n(1), o("−"), i("σ"), o("("), i("w"), o("["), sub(i("s", "q"), i("t")), o(";")), 6)}
        {softmax}
        {open}
        {unscaled ? (
          part(product, 1, 2)
        ) : (
          <mfrac>
            {part(product, 1)}
            {part(root(), 2)}
          </mfrac>
        )}
        {biased && part(row(o("+"), i("B")), 7)}
        {part(row(o("+"), i("M")), 3)}
        {close}
        {part(i(copy ? "H" : "V", "v"), 5)}
        {copy && part(row(o("]"), o("+"), i("b"), o(")")), 6)}
        {heads > 1 &&
          part(
            row(o("→"), word("Concat"), o("("), sub(word("head"), n(1)), o("…"), sub(word("head"), n(heads)), o(")"), sup(i("W"), i("O"))),
            6,
          )}
        {heads === 1 && !copy && part(sup(i("W"), i("O")), 6)}
      </mrow>
    </Maths>
  );
}

/** The four lines of Luong's attention. */
export function LuongFormulas({ score }: { score: string | null }): readonly ComponentChildren[] {
  const [s, h, c] = [sub(i("s", "q"), i("t")), sub(i("h", "k"), i("j")), sub(i("c", "o"), i("t"))];
  const alpha = (below: ComponentChildren) => sub(i("α", "s"), below);
  const tj = row(i("t"), i("j"));
  return [
    <Maths key={1}>{row(sub(i("e", "s"), tj), o("="), luongScore(score, s, h))}</Maths>,
    <Maths key={2}>{row(alpha(tj), o("="), sub(word("softmax"), i("j")), o("("), sub(i("e", "s"), tj), o(")"))}</Maths>,
    <Maths key={3}>
      {row(
        c,
        o("="),
        <munder>
          {o("∑")}
          {i("j")}
        </munder>,
        alpha(tj),
        sub(i("h", "v"), i("j")),
      )}
    </Maths>,
    <Maths key={4}>
      {row(
        sub(
          <mover>
            {i("s", "o")}
            {o("~")}
          </mover>,
          i("t"),
        ),
        o("="),
        word("tanh"),
        o("("),
        sub(i("W"), i("c")),
        o("["),
        c,
        o(";"),
        s,
        o("]"),
        o(")"),
      )}
    </Maths>,
  ];
}

/** PE(p, 2i) = sin(p / 10000^(2i/D)), and its cosine twin. */
export function SinusoidFormula() {
  const line = (offset: string, f: string) =>
    row(
      word("PE"),
      o("("),
      i("p"),
      o(","),
      n(2),
      i("i"),
      offset ? row(o("+"), n(1)) : null,
      o(")"),
      o("="),
      word(f),
      o("("),
      i("p"),
      o("/"),
      sup(n("10000"), row(n(2), i("i"), o("/"), i("D"))),
      o(")"),
    );
  return (
    <p class="formulas">
      <Maths>{line("", "sin")}</Maths>
      <Maths>{line("+1", "cos")}</Maths>
    </p>
  );
}

/** h_t = cell(x_t, h_{t−1}): the recurrence itself. */
export function RecurrenceFormula({ cell }: { cell: string }) {
  const h = (below: ComponentChildren) => sub(i("h", "k"), below);
  return <Maths>{row(h(i("j")), o("="), word(cell), o("("), sub(i("x"), i("j")), o(","), h(row(i("j"), o("−"), n(1))), o(")"))}</Maths>;
}
