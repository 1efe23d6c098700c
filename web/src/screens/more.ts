/** The screens that are not part of the first look; Learn has a script of its own. */
import { Chat } from "./chat";
import { Docs } from "./docs";
import { screens as both } from "./file";
import { Quality } from "./quality";
import { Training } from "./training";

export const screens = { ...both, chat: Chat, training: Training, quality: Quality, docs: Docs };
