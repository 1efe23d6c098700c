/** Plays the story of the Map: a clock over its phases that can be paused and stepped, by token or by stage. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { speedOf } from "../components/Scrubber";
import { beginning, beside, boxAt, lastPhase, later, paceOf, restOf, same, type Clock, type Moment, type Story } from "../lib/map/timing";
import type { Box } from "../lib/map/plan";
import { setParams } from "../state";
import { calm } from "./clock";

export interface Player {
  readonly moment: Moment;
  readonly playing: boolean;
  /** something moves: it plays, or a single stage is on its way */
  readonly running: boolean;
  toggle(): void;
  stage(by: 1 | -1): void;
  token(by: 1 | -1): void;
  to(step: number): void;
  /** the share of the phase that has passed, at this time */
  share(now: number): number;
  box(): Box | null;
}

type Mode = "rest" | "play" | "once";
/** Where motion is reduced a stage stands this many times longer than it would move. */
const LINGER = 1.6;

/** `given` is the moment of the address; `placed` says whether the address names its step. */
export function usePlayer(story: Story, given: Moment, placed: boolean): Player {
  const [mode, setMode] = useState<Mode>("rest");
  const [moment, setMoment] = useState(given);
  const clock = useRef<Clock & { at: number }>({ moment: given, spent: paceOf(story, given), ended: false, at: 0 });
  const own = useRef(false);

  const stand = (to: Moment) => {
    clock.current = { moment: to, spent: paceOf(story, to), ended: false, at: performance.now() };
    setMoment(to);
  };
  /** Moves on to a moment that then plays from its beginning. */
  const begin = (to: Moment) => {
    clock.current = { moment: to, spent: 0, ended: false, at: performance.now() };
    setMoment(to);
  };
  const keep = (to: Moment) => {
    own.current = true;
    setParams({ q: to.step, ph: to.phase === lastPhase(story) ? null : to.phase });
  };

  // the address was changed by someone else: the scrubber of another screen, a link, going back
  useEffect(() => {
    if (own.current) own.current = false;
    else if (mode !== "play" && !same(given, clock.current.moment)) stand(given);
  }, [given.step, given.phase]);
  useEffect(() => stand(same(given, clock.current.moment) ? clock.current.moment : given), [story]);

  useEffect(() => {
    if (mode === "rest") return;
    clock.current = { ...clock.current, at: performance.now() };
    let request = 0;
    let timer = 0;
    const advance = () => {
      const now = performance.now();
      const speed = speedOf() / (calm() ? LINGER : 1);
      const before = clock.current.moment;
      const passed = (now - clock.current.at) * speed;
      if (mode === "once" && clock.current.spent + passed >= paceOf(story, before)) {
        clock.current = { ...clock.current, spent: paceOf(story, before), at: now };
        return setMode("rest");
      }
      clock.current = { ...later(story, clock.current, passed), at: now };
      const after = clock.current.moment;
      if (!same(before, after)) {
        setMoment(after);
        if (after.step !== before.step) keep({ ...after, phase: lastPhase(story) });
      }
      if (clock.current.ended) {
        setMode("rest");
        return keep(restOf(story, after.step));
      }
      next();
    };
    const next = () => {
      if (calm()) timer = setTimeout(advance, paceOf(story, clock.current.moment) / 4) as unknown as number;
      else request = requestAnimationFrame(advance);
    };
    next();
    return () => {
      cancelAnimationFrame(request);
      clearTimeout(timer);
    };
  }, [mode, story]);

  return useMemo<Player>(() => {
    const to = (step: number) => {
      setMode("rest");
      const rest = restOf(story, Math.max(0, Math.min(story.steps - 1, step)));
      stand(rest);
      keep(rest);
    };
    return {
      moment,
      playing: mode === "play",
      running: mode !== "rest" && !calm(),
      toggle: () => {
        if (mode === "play") {
          setMode("rest");
          return keep(clock.current.moment);
        }
        const rested = clock.current.moment.phase === lastPhase(story) && clock.current.spent >= paceOf(story, clock.current.moment);
        const last = clock.current.moment.step === story.steps - 1;
        if (rested) begin(placed && !last ? { step: clock.current.moment.step, phase: 0 } : beginning(story));
        setMode("play");
      },
      stage: (by) => {
        const next = beside(story, clock.current.moment, by);
        if (by > 0 && !same(next, clock.current.moment) && !calm()) {
          begin(next);
          setMode("once");
        } else {
          setMode("rest");
          stand(next);
        }
        keep(next);
      },
      token: (by) => to(clock.current.moment.step + by),
      to,
      share: (now) => {
        const { moment: at, spent, at: since } = clock.current;
        const moved = mode === "rest" || calm() ? 0 : (now - since) * speedOf();
        return calm() ? 1 : Math.min(1, (spent + moved) / paceOf(story, at));
      },
      box: () => boxAt(story, clock.current.moment),
    };
  }, [story, moment, mode, placed]);
}
