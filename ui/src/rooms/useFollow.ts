import { useEffect, useLayoutEffect, useRef, useState, type RefObject } from "react";

const NEAR_END = 80;
const MOVES_MS = 1_000; // a flick of a wheel or a finger goes on for a while
const REDRAWN_MS = 2_000; // a card that is drawn anew loses the focus, which is not leaving it

export type Follow = {
  atEnd: boolean;
  start(): void;
  stop(): void;
  /** For the element that scrolls. */
  events: Record<"onFocus" | "onScroll" | "onWheel" | "onTouchMove" | "onKeyDownCapture" | "onPointerDown" | "onPointerMove" | "onPointerUp", (event: React.SyntheticEvent<HTMLElement>) => void>;
};

const isNear = (at: HTMLElement): boolean => at.scrollHeight - at.scrollTop - at.clientHeight < NEAR_END;

/** Somebody types into a card: it must not move away under their hands. */
const isFilledIn = (list: HTMLElement): boolean => list.contains(document.activeElement) && !!document.activeElement?.matches("input, textarea, select");

/** Stays at the end of a list while rows come and turn out higher than they were thought to be, until somebody scrolls away. */
export function useFollow(list: RefObject<HTMLElement | null>, height: number): Follow {
  const following = useRef(true);
  const moved = useRef(0);
  const held = useRef(false);
  const top = useRef(0);
  const filled = useRef(-REDRAWN_MS);
  const known = useRef(0);
  const [atEnd, setAtEnd] = useState(true);

  const isHeld = (at: HTMLElement): boolean => {
    if (isFilledIn(at)) filled.current = performance.now();
    return document.activeElement === document.body ? performance.now() - filled.current < REDRAWN_MS : isFilledIn(at);
  };

  useLayoutEffect(() => {
    if (!following.current || !list.current) return;
    if (!isHeld(list.current)) {
      list.current.scrollTop = list.current.scrollHeight;
      return;
    }
    following.current = isNear(list.current);
    setAtEnd(following.current); // whoever types is told of what is new, and goes there when they want to
  }, [height]);

  // The field below grows, or a line appears above it: the end stays in view.
  useEffect(() => {
    const at = list.current;
    if (!at) return;
    const watch = new ResizeObserver(() => {
      if (following.current && !isHeld(at)) at.scrollTop = at.scrollHeight;
    });
    watch.observe(at);
    return () => watch.disconnect();
  }, []);

  const moves = (): void => void (moved.current = performance.now());
  const onScroll = (event: React.SyntheticEvent<HTMLElement>): void => {
    const at = event.currentTarget;
    const near = isNear(at);
    const byHand = held.current || performance.now() - moved.current < MOVES_MS;
    if (near) following.current = true;
    // Rows that turn out lower than they were thought to be move what is shown, too; but then the height has changed.
    else if (at.scrollTop < top.current && (byHand || at.scrollHeight === known.current)) following.current = false;
    top.current = at.scrollTop;
    known.current = at.scrollHeight;
    setAtEnd(near || following.current);
  };
  const hold = (event: React.SyntheticEvent<HTMLElement>): void => {
    held.current = (event.nativeEvent as PointerEvent).buttons > 0;
  };
  return {
    atEnd,
    start: () => void (following.current = true),
    stop: () => {
      following.current = false;
      // Whoever goes to a row that is at the end anyway has not left it.
      requestAnimationFrame(() => list.current && isNear(list.current) && (following.current = true));
    },
    events: { onFocus: () => void (list.current && isHeld(list.current)), onScroll, onWheel: moves, onTouchMove: moves, onKeyDownCapture: moves, onPointerDown: hold, onPointerMove: hold, onPointerUp: hold },
  };
}
