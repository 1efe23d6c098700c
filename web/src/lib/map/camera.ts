/** Where the Map is looked at from: a frame of the picture, moved and scaled. */
export interface Camera {
  /** the point of the picture at the top left of the window */
  readonly x: number;
  readonly y: number;
  readonly scale: number;
}
export interface Rect {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}
export interface Size {
  readonly width: number;
  readonly height: number;
}

export const WHOLE: Camera = { x: 0, y: 0, scale: 1 };
const MOST = 24;

/** The camera that shows a part of the picture as large as the window allows, with some room around it. */
export function frame(part: Rect, window: Size, room = 0.08): Camera {
  const scale = Math.max(1, Math.min(MOST, (1 - room) * Math.min(window.width / Math.max(1, part.w), window.height / Math.max(1, part.h))));
  return bounded({ x: part.x + part.w / 2 - window.width / scale / 2, y: part.y + part.h / 2 - window.height / scale / 2, scale }, window);
}

/** The camera kept within the picture, which is as large as the window at scale 1. */
export function bounded({ x, y, scale }: Camera, { width, height }: Size): Camera {
  const s = Math.max(1, Math.min(MOST, scale));
  const clamp = (value: number, size: number) => Math.max(0, Math.min(size - size / s, value));
  return { x: clamp(x, width), y: clamp(y, height), scale: s };
}

/** Zoomed by a factor around a point of the window, which stays where it is. */
export function zoomed(camera: Camera, by: number, at: { x: number; y: number }, window: Size): Camera {
  const scale = Math.max(1, Math.min(MOST, camera.scale * by));
  const [px, py] = [camera.x + at.x / camera.scale, camera.y + at.y / camera.scale];
  return bounded({ x: px - at.x / scale, y: py - at.y / scale, scale }, window);
}

export const panned = (camera: Camera, dx: number, dy: number, window: Size): Camera =>
  bounded({ ...camera, x: camera.x - dx / camera.scale, y: camera.y - dy / camera.scale }, window);

/** Between two cameras: the scale by its logarithm, so that the zoom is even, and the middle of the window in a straight line. */
export function between(from: Camera, to: Camera, u: number, { width, height }: Size): Camera {
  if (u >= 1) return to;
  const e = u < 0.5 ? 2 * u * u : 1 - 2 * (1 - u) ** 2;
  const scale = from.scale * (to.scale / from.scale) ** e;
  const middle = (camera: Camera) => [camera.x + width / camera.scale / 2, camera.y + height / camera.scale / 2];
  const [a, b] = [middle(from), middle(to)];
  // how much of the way the window's middle has gone when the scale has come this far
  const way = Math.abs(to.scale - from.scale) < 1e-9 ? e : (1 / scale - 1 / from.scale) / (1 / to.scale - 1 / from.scale);
  return { x: a[0] + way * (b[0] - a[0]) - width / scale / 2, y: a[1] + way * (b[1] - a[1]) - height / scale / 2, scale };
}

/** A point of the window in the picture. */
export const pointOf = (camera: Camera, x: number, y: number) => ({ x: camera.x + x / camera.scale, y: camera.y + y / camera.scale });
