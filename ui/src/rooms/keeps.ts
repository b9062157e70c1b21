// Who may change a room for everybody in it. The server decides (access/rules.py); this only hides what it would refuse.
import type { Space } from "../api/nouns";

export type Kept = Pick<Space, "kind" | "private" | "members" | "createdBy">;

export function keepsRoom(space: Kept | undefined, meId: string, grants: readonly string[]): boolean {
  if (!space) return false;
  const isIn = space.members.includes(meId);
  if (grants.includes("owner")) return isIn || !space.private;
  if (!isIn || !grants.includes("manage_space")) return false;
  const leftToAll = space.kind === "dm" || (space.private && !space.members.includes(space.createdBy));
  return leftToAll || space.createdBy === meId || grants.includes("manage_agents");
}
