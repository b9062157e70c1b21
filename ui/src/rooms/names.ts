// How rooms and members are called on this page.
import type { Member, Space } from "../api/nouns";
import type { State } from "../live/state";
import { useLive } from "../live/store";
import { clean } from "../parts/odd";

export function otherOf(space: Space, meId: string | undefined): string | undefined {
  return space.members.find((id) => id !== meId) ?? space.members[0];
}

export function titleOf(space: Space, state: Pick<State, "me" | "members">): string {
  if (space.kind !== "dm") return space.name;
  const mine = space.members.includes(state.me?.id ?? "");
  if (!mine) return space.members.map((id) => nameOf(state.members, id)).join(" and ");
  const other = otherOf(space, state.me?.id);
  return other ? nameOf(state.members, other) : "";
}

/** Where something happened, for a line of text. */
export function placeOf(spaceId: string | null | undefined, state: Pick<State, "me" | "members" | "spaces">): string {
  const space = spaceId ? state.spaces[spaceId] : undefined;
  if (!spaceId) return "no room";
  if (!space) return "a room you are not in";
  return space.kind === "dm" ? titleOf(space, state) : `#${titleOf(space, state)}`;
}

export function useName(id: string | null | undefined): string {
  return useLive((state) => (id ? nameOf(state.members, id) : ""));
}

/** Without what may hide in a name from before names were checked. */
export function nameOf(members: Record<string, Member>, id: string | null | undefined): string {
  return id ? clean(members[id]?.name ?? "") || id : "somebody";
}

const folded = (name: string): string => clean(name).normalize("NFKC").toLowerCase();
const shared = new WeakMap<Record<string, Member>, Set<string>>(); // counted anew only when somebody comes or is renamed

/** Is somebody else on this page called the same? */
export function isShared(members: Record<string, Member>, id: string | null | undefined): boolean {
  const name = id ? members[id]?.name : undefined;
  if (name === undefined) return false;
  let twice = shared.get(members);
  if (!twice) {
    const seen = new Set<string>();
    twice = new Set<string>();
    for (const each of Object.values(members)) (seen.has(folded(each.name)) ? twice : seen).add(folded(each.name));
    shared.set(members, twice);
  }
  return twice.has(folded(name));
}
