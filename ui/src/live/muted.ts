// Rooms that somebody does not want to be called by, per person, on this device.
import { useStore } from "zustand";
import { createStore } from "zustand/vanilla";
import { keep, keptUnder, onKeptElsewhere } from "./kept";

const muted = createStore<Record<string, true>>(() => ({}));
let owner = "";

const prefix = (): string => `muted.${owner}.`;
const look = (): void => muted.setState(keptUnder<true>(prefix()), true);

export function openMuted(me: string): void {
  if (!owner) onKeptElsewhere(prefix, look);
  owner = me;
  look();
}

export function isMuted(spaceId: string): boolean {
  return !!muted.getState()[spaceId];
}

export function useMuted(): Record<string, true> {
  return useStore(muted);
}

export function mute(spaceId: string, on: boolean): void {
  keep(prefix() + spaceId, on ? true : undefined);
  const { [spaceId]: _, ...rest } = muted.getState();
  muted.setState(on ? { ...rest, [spaceId]: true } : rest, true);
}
