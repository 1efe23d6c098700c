/** The screens of the page, by the first part of the address. */
import type { ComponentType } from "preact";
import type { Screen } from "../lib/link";
import { Attention } from "./attention";
import { Beam } from "./beam";
import { Compare } from "./compare";
import { Docs } from "./docs";
import { Inside } from "./inside";
import { Learn } from "./learn";
import { Quality } from "./quality";
import { Training } from "./training";
import { Translate } from "./translate";

interface Entry {
  readonly component: ComponentType;
  /** whether the screen asks a model about the sentence of the address (then it has the What-if drawer too) */
  readonly needsModel: boolean;
  /** the key after `g` */
  readonly key: string;
}

export const screens: Record<Screen, Entry> = {
  translate: { component: Translate, needsModel: true, key: "t" },
  attention: { component: Attention, needsModel: true, key: "a" },
  inside: { component: Inside, needsModel: true, key: "i" },
  compare: { component: Compare, needsModel: true, key: "c" },
  beam: { component: Beam, needsModel: true, key: "b" },
  training: { component: Training, needsModel: false, key: "r" },
  quality: { component: Quality, needsModel: false, key: "q" },
  learn: { component: Learn, needsModel: false, key: "l" },
  docs: { component: Docs, needsModel: false, key: "d" },
};
