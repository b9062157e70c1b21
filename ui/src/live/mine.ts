// Is a call that waits for me to answer?
import { needsOf, scopesFor } from "../cards/needs";
import type { State } from "./state";

/** Approvals are for those who may give them, cards for the people in the room, everything else is for programs. */
export function isMine(call: { kind?: string; spaceId?: string | null; args?: unknown }, { me, spaces }: Pick<State, "me" | "spaces">): boolean {
  if (!me) return false;
  if (call.kind === "approval") return me.grants.includes("answer_pending");
  if (call.kind === "variables") return scopesFor(needsOf(call.args), me.id, me.grants, call.spaceId ? spaces[call.spaceId] : undefined).length > 0;
  if (call.kind !== "space") return false;
  return !!call.spaceId && (spaces[call.spaceId]?.members.includes(me.id) ?? false);
}
