// Rooms that somebody has marked unread while they are open: they are not read again until they are left.
import { createStore } from "zustand/vanilla";
import { useStore } from "zustand";
import { api } from "../api/client";
import { reduce } from "./reduce";
import { change } from "./store";

const held = createStore<Record<string, true>>(() => ({}));

export const useHeldUnread = (spaceId: string): boolean => useStore(held, (all) => !!all[spaceId]);

/** From this message on. */
export async function markUnread(spaceId: string, seq: number): Promise<void> {
  held.setState({ [spaceId]: true });
  try {
    const space = await api.markRead(spaceId, seq - 1);
    const read = { seq: space.readSeq ?? 0, unread: space.unread ?? 0, mentions: space.mentions ?? 0 };
    change((state) => {
      const next = reduce(state, [{ type: "space_read", at: new Date().toISOString(), spaceId, read }]);
      const room = next.rooms[spaceId];
      return room ? { ...next, rooms: { ...next.rooms, [spaceId]: { ...room, dividerSeq: seq - 1 } } } : next;
    });
  } catch (error) {
    letGo(spaceId);
    throw error;
  }
}

export function letGo(spaceId: string): void {
  const { [spaceId]: _, ...rest } = held.getState();
  held.setState(rest, true);
}
