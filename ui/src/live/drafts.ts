// What somebody has begun to write, per room, for 30 days.
import { createStore } from "zustand/vanilla";
import { useStore } from "zustand";
import { keep, kept } from "./kept";

type Draft = { text: string; at: number };
const DAYS_30 = 30 * 86_400_000;

function fresh(found: Record<string, Draft>): Record<string, Draft> {
  return Object.fromEntries(Object.entries(found).filter(([, draft]) => Date.now() - draft.at < DAYS_30));
}

const drafts = createStore<Record<string, Draft>>(() => fresh(kept("drafts", {})));

export function draftOf(spaceId: string): string {
  return drafts.getState()[spaceId]?.text ?? "";
}

export function keepDraft(spaceId: string, text: string): void {
  const { [spaceId]: before, ...rest } = drafts.getState();
  if ((before?.text ?? "") === text) return;
  const next = text.trim() ? { ...rest, [spaceId]: { text, at: Date.now() } } : rest;
  drafts.setState(next, true);
  keep("drafts", next);
}

export function useHasDraft(spaceId: string): boolean {
  return useStore(drafts, (all) => !!all[spaceId]);
}
