// What somebody has begun to write, per person and room, for 30 days.
import { createStore } from "zustand/vanilla";
import { useStore } from "zustand";
import { keep, keptUnder, onKeptElsewhere } from "./kept";

type Draft = { text: string; at: number };
const DAYS_30 = 30 * 86_400_000;

const drafts = createStore<Record<string, Draft>>(() => ({}));
let owner = "";

const prefix = (): string => `draft.${owner}.`;

export function openDrafts(me: string): void {
  if (!owner) onKeptElsewhere(prefix, look);
  owner = me;
  look();
}

function look(): void {
  const found = keptUnder<Draft>(prefix());
  for (const [place, draft] of Object.entries(found)) {
    if (Date.now() - draft.at < DAYS_30) continue;
    delete found[place];
    keep(prefix() + place, undefined);
  }
  drafts.setState(found, true);
}

export function draftOf(place: string): string {
  return drafts.getState()[place]?.text ?? "";
}

export function keepDraft(place: string, text: string): void {
  const { [place]: before, ...rest } = drafts.getState();
  if ((before?.text ?? "") === text) return;
  const draft = text.trim() ? { text, at: Date.now() } : undefined;
  drafts.setState(draft ? { ...rest, [place]: draft } : rest, true);
  keep(prefix() + place, draft);
}

export function useHasDraft(spaceId: string): boolean {
  return useStore(drafts, (all) => !!all[spaceId]);
}
