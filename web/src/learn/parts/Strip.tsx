/** A vector as a strip of cells: orange above zero, blue below. */
import { useEffect, useRef } from "preact/hooks";
import { pixels } from "../../components/paint";
import { matrix } from "../../lib/matrix";
import { dark } from "../../state";

/** `max` is the value of the strongest colour; strips that are compared share it. `name` says what it is to those who cannot see it. */
export function Strip({ values, max, name }: { values: ArrayLike<number>; max: number; name: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const isDark = dark.value;
  useEffect(() => {
    const node = canvas.current!;
    node.width = values.length;
    node.height = 1;
    node.getContext("2d")!.drawImage(pixels(matrix(1, values.length, Float32Array.from(values)), { signed: true, max }, isDark), 0, 0);
  }, [values, max, isDark]);
  return <canvas ref={canvas} class="strip" role="img" aria-label={name} />;
}
