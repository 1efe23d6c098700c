/** The figures of the book by name: `<name>.tsx` in this folder, each a script of its own that comes when a chapter shows it. */
import type { ComponentType } from "preact";
import type { Arch, Card } from "../../api-types";
import type { Facts } from "../../lib/lessons";

export interface FigureProps {
  /** the model at hand, of one of the module's architectures; not there for a figure that needs none */
  card: Card;
  /** the sentence of the chapter, for this model */
  text: string;
  /** publishes facts for the question and for texts: call it in an effect, whenever the numbers change */
  tell(facts: Facts): void;
}

export interface FigureModule {
  default: ComponentType<FigureProps>;
  /** architectures it can show, the best first; empty: it needs no model */
  arch: readonly Arch[];
  /** what its model reads (default: text) */
  reads?: Card["source"];
}

/** Brings a figure. The bundler makes a script of every file that the pattern can name. */
export const figure = (name: string): Promise<FigureModule> => import(`./${name}.tsx`) as Promise<FigureModule>;
