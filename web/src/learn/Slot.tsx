/** The place of a figure: brings its script, finds a model for it, or says what is missing. */
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import type { Arch } from "../api-types";
import { Empty, Failed, Loading, OnLack } from "../components/states";
import { useResource } from "../hooks";
import { t } from "../i18n";
import { cardFor, sentenceFor, type Book, type Chapter, type Facts, type Lack } from "../lib/lessons";
import { loadModels, models, modelsError, params } from "../state";
import { figure, type FigureProps } from "./figures";
import { wordsOf } from "./say";
import { frame } from "./words/frame";

const say = wordsOf(frame);
export const archNames = (arch: readonly Arch[]) => arch.map((name) => t(`shell.arch_${name}`)).join(say("or"));

interface SlotProps {
  name: string;
  book: Book;
  chapter: Chapter;
  tell(facts: Facts): void;
  /** called when it is known that the figure cannot be drawn */
  cannot(): void;
}

export function Slot({ name, book, chapter, tell, cannot }: SlotProps) {
  const module = useResource(`figure ${name}`, () => figure(name), { cache: true });
  if (module.status === "error" && module.error) return <Failed error={module.error} retry={module.retry} />;
  if (!module.value) return <Loading height={320} />;
  const { default: Drawn, arch, reads } = module.value;
  if (arch.length === 0) {
    const Free = Drawn as ComponentType<Omit<FigureProps, "card">>;
    return <Free text={book.texts[chapter.text ?? "short"]} tell={tell} />;
  }
  if (models.value === null) {
    const error = modelsError.value;
    return error ? <Failed error={error} retry={() => void loadModels()} /> : <Loading height={320} />;
  }
  const card = cardFor({ arch, reads }, models.value, params.value.m);
  if (typeof card === "string") return <Lacking why={card} arch={arch} cannot={cannot} />;
  return (
    <OnLack.Provider value={cannot}>
      <Drawn key={card.name} card={card} text={sentenceFor(book, card, chapter.text ?? "short")} tell={tell} />
    </OnLack.Provider>
  );
}

function Lacking({ why, arch, cannot }: { why: Lack; arch: readonly Arch[]; cannot(): void }) {
  useEffect(cannot, []);
  return (
    <div class="figure learn-lack">
      <Empty title={say("lack")}>
        <p>{say(`lack_${why}`, { arch: archNames(arch) })}</p>
      </Empty>
    </div>
  );
}
