/** The screens that are not part of the first look. */
import { Chat } from "./chat";
import { Docs } from "./docs";
import { screens as both } from "./file";
import { Learn } from "./learn";
import { Quality } from "./quality";
import { Training } from "./training";

export const screens = { ...both, chat: Chat, training: Training, quality: Quality, learn: Learn, docs: Docs };
