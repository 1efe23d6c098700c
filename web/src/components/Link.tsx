/** A link made with `href`, which moves within the page. */
import type { JSX } from "preact";
import { follow } from "../state";

export const Link = (props: JSX.IntrinsicElements["a"]) => <a onClick={follow} {...props} />;
