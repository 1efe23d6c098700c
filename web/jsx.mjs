// What JSX becomes; bundles get it wherever there is markup. Smaller than the automatic form by a hundredth.
export { h as jsx, Fragment } from "preact"; // `h` is a name that code uses: a head, a state
