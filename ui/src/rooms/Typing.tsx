import { CirclePause } from "lucide-react";
import { useEffect, useState } from "react";
import { Link } from "wouter";
import { useLive, useLiveShallow } from "../live/store";
import { emptyRoom } from "../live/state";
import { clockTime } from "../parts/Ago";
import { heldBecause, kind, typingLine } from "../words/en";
import { usePending } from "../work/data";
import { nameOf } from "./names";
import { RaiseLimit } from "./RaiseLimit";
import s from "./rooms.module.css";
import { StopButton } from "./Stop";
import { Who } from "./Who";

type Line = { id: string; name: string; does: string; runId?: string; waits?: boolean };

/** "Ada is thinking · using search_memory · Stop". Changes at most every second or so, for those who listen to it. */
export function Typing({ spaceId }: { spaceId: string }) {
  const typing = useLive((state) => (state.rooms[spaceId] ?? emptyRoom).typing);
  const writes = useLiveShallow((state) => Object.values((state.rooms[spaceId] ?? emptyRoom).partials).filter((each) => each.kind === "text").map((each) => each.agentId));
  const people = useLiveShallow((state) => Object.keys((state.rooms[spaceId] ?? emptyRoom).writers));
  const members = useLive((state) => state.members);
  const waiting = useWaiting(spaceId);
  const busy = Object.values(typing).filter((each) => !waiting.some((line) => line.id === each.agentId));
  const lines: Line[] = [
    ...waiting.map((each) => ({ ...each, name: nameOf(members, each.id), waits: true })),
    ...busy.map((each) => ({
      id: each.agentId, name: nameOf(members, each.agentId), runId: each.runId,
      does: each.waiting ? "waits for an answer" : writes.includes(each.agentId) ? "is writing" : each.tool ? `is thinking · using ${each.tool}` : "is thinking",
    })),
  ];
  const [shown, setShown] = useState(lines);
  const now = JSON.stringify(lines);
  useEffect(() => {
    const timer = setTimeout(() => setShown(JSON.parse(now) as Line[]), shown.length ? 120 : 0);
    return () => clearTimeout(timer);
  }, [now]);
  return (
    <div className={s.typing}>
      {shown.some((each) => !each.waits) && (
        <span className={s.dots} aria-hidden>
          <i />
          <i />
          <i />
        </span>
      )}
      <span role="status" className={s.doing}>
        {shown.slice(0, 3).map((each, at) => (
          <span key={each.id}>
            {at > 0 && " · "}
            <b>{each.name}</b> {each.does}
          </span>
        ))}
        {shown.length > 3 && ` · and ${shown.length - 3} more`}
        {people.length > 0 && `${shown.length ? " · " : ""}${typingLine(people.map((id) => nameOf(members, id)))}`}
      </span>
      {shown.slice(0, 3).map((each) => each.runId && <StopButton key={each.runId} agentId={each.id} runId={each.runId} />)}
    </div>
  );
}

/** Agents that wait for somebody in this room, and whether that is me. */
function useWaiting(spaceId: string): { id: string; does: string }[] {
  const pending = usePending().data;
  if (!pending) return [];
  const here = (call: { spaceId?: string | null }): boolean => call.spaceId === spaceId;
  const mine = pending.needsMe.filter(here).map((call) => ({ id: call.agentId, does: "waits for you" }));
  const others = pending.others.filter(here).map((call) => ({ id: call.agentId, does: `waits for ${kind[call.kind]}` }));
  return [...mine, ...others].filter((each, at, all) => all.findIndex((other) => other.id === each.id) === at);
}

/** Runs of this room that are put aside: their model is away, or a budget is used up. */
export function Held({ spaceId }: { spaceId: string }) {
  const held = useLiveShallow((state) => Object.values(state.runs).filter((run) => run.spaceId === spaceId && heldBecause(run, clockTime) !== null));
  const lines = useLiveShallow((state) => (state.rooms[spaceId]?.messages ?? []).slice(-LAST).filter((each) => each.authorKind === "system").map((each) => each.text));
  // The line of the room says it already, and can be acted on.
  const runs = held.filter((run) => !run.pausedReason || !lines.some((line) => line.startsWith(run.pausedReason ?? "")));
  if (!runs.length) return null;
  return (
    <div role="status">
      <ul className={s.held}>
        {runs.slice(-3).map((run) => (
          <li key={run.id}>
            <CirclePause size={14} aria-hidden />
            <span>
              <b><Who id={run.agentId} /></b> {heldBecause(run, clockTime)} {run.pausedReason && <RaiseLimit agentId={run.agentId} spaceId={spaceId} />} <Link href={`/runs/${run.id}`}>See the run</Link>
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}

const LAST = 12; // of a room's messages: what is further up is not seen any more
