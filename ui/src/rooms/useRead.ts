import { useEffect, useRef } from "react";
import { api } from "../api/client";
import { useHeldUnread } from "../live/held";
import { useLive } from "../live/store";

const LOOKED_MS = 1_000;

/** Tells the server what was read: the end of the room, seen for a second by somebody who looks. */
export function useRead(spaceId: string, atEnd: boolean): { unseen: number } {
  const lastSeq = useLive((state) => state.rooms[spaceId]?.messages.at(-1)?.seq ?? 0);
  const readSeq = useLive((state) => state.spaces[spaceId]?.readSeq ?? 0);
  const unseen = useLive((state) => state.spaces[spaceId]?.unread ?? 0);
  const isMember = useLive((state) => !!state.me && !!state.spaces[spaceId]?.members.includes(state.me.id));
  const sent = useRef(0);
  const held = useHeldUnread(spaceId);
  useEffect(() => {
    if (held) sent.current = 0;
    if (held || !isMember || !atEnd || lastSeq <= readSeq || lastSeq <= sent.current) return;
    let timer = 0;
    const look = (): void => {
      clearTimeout(timer);
      if (document.hidden || !document.hasFocus()) return;
      timer = window.setTimeout(() => {
        sent.current = lastSeq;
        void api.markRead(spaceId, lastSeq).catch(() => (sent.current = 0));
      }, LOOKED_MS);
    };
    look();
    window.addEventListener("focus", look);
    document.addEventListener("visibilitychange", look);
    return () => {
      clearTimeout(timer);
      window.removeEventListener("focus", look);
      document.removeEventListener("visibilitychange", look);
    };
  }, [spaceId, atEnd, lastSeq, readSeq, isMember, held]);
  return { unseen };
}
