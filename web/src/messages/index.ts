/** Every message file of the page, by the name that begins its keys. */
export { attention } from "./attention";
export { beam } from "./beam";
export { chart } from "./chart";
export { chat } from "./chat";
export { compare } from "./compare";
export { docs } from "./docs";
export { documents } from "./documents";
export { figure } from "./figure";
export { inside } from "./inside";
export { layers } from "./layers";
export { learn } from "./learn";
export { quality } from "./quality";
export { shell } from "./shell";
export { training } from "./training";
export { translate } from "./translate";
export { whatif } from "./whatif";
