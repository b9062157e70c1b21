// What a call that waits for values says of them, and where somebody may keep them.
import { isRecord } from "../parts/Args";
import { type Kept, keepsRoom } from "../rooms/keeps";

export type Need = { name: string; type: string; description: string; scope: { kind: string; id?: string }; sentTo?: string };
export type Scope = "person" | "thread" | "agent" | "space" | "workspace";

export function needsOf(args: unknown): Need[] | undefined {
  if (!isRecord(args) || !Array.isArray(args.variables)) return undefined;
  return args.variables.filter((each): each is Need => isRecord(each) && typeof each.name === "string" && isRecord(each.scope));
}

/** Where somebody may keep the values, the narrowest first. Empty: nowhere. */
export function scopesFor(needs: Need[] | undefined, meId: string, grants: readonly string[], space?: Kept): Scope[] {
  if (!needs?.length) return [];
  const manages = grants.includes("manage_agents");
  const asked = needs.map((need) => need.scope);
  const own = asked.every((scope) => (scope.kind === "person" ? scope.id === meId : manages));
  return [
    ...(own ? [asked[0]?.kind as Scope] : []),
    ...(manages ? (["agent"] as const) : []),
    ...(keepsRoom(space, meId, grants) ? (["space"] as const) : []),
    ...(manages ? (["workspace"] as const) : []),
  ];
}
