// How rooms and members are called on this page.
import type { Member, Space } from "../api/nouns";
import type { State } from "../live/state";
import { useLive } from "../live/store";

export function otherOf(space: Space, meId: string | undefined): string | undefined {
  return space.members.find((id) => id !== meId) ?? space.members[0];
}

export function titleOf(space: Space, state: Pick<State, "me" | "members">): string {
  if (space.kind !== "dm") return space.name;
  const mine = space.members.includes(state.me?.id ?? "");
  if (!mine) return space.members.map((id) => state.members[id]?.name ?? id).join(" and ");
  const other = otherOf(space, state.me?.id) ?? "";
  return state.members[other]?.name ?? other;
}

export function useName(id: string | null | undefined): string {
  return useLive((state) => (id ? (state.members[id]?.name ?? id) : ""));
}

export function nameOf(members: Record<string, Member>, id: string | null | undefined): string {
  return id ? (members[id]?.name ?? id) : "somebody";
}
