import { CirclePause } from "lucide-react";
import { useEffect, useState } from "react";
import { Link } from "wouter";
import { useLive, useLiveShallow } from "../live/store";
import { emptyRoom } from "../live/state";
import { clockTime } from "../parts/Ago";
import { heldBecause } from "../words/en";
import { nameOf } from "./names";
import s from "./rooms.module.css";
import { Who } from "./Who";

/** "Ada is thinking · using search_memory". Changes at most every second or so, for those who listen to it. */
export function Typing({ spaceId }: { spaceId: string }) {
  const typing = useLive((state) => (state.rooms[spaceId] ?? emptyRoom).typing);
  const writes = useLiveShallow((state) => Object.values((state.rooms[spaceId] ?? emptyRoom).partials).filter((each) => each.kind === "text").map((each) => each.agentId));
  const members = useLive((state) => state.members);
  const lines = Object.values(typing).map((each) => ({
    id: each.agentId,
    name: nameOf(members, each.agentId),
    does: each.waiting ? "waits for an answer" : writes.includes(each.agentId) ? "is writing" : each.tool ? `is thinking · using ${each.tool}` : "is thinking",
  }));
  const [shown, setShown] = useState(lines);
  const now = JSON.stringify(lines);
  useEffect(() => {
    const timer = setTimeout(() => setShown(JSON.parse(now) as typeof lines), shown.length ? 120 : 0);
    return () => clearTimeout(timer);
  }, [now]);
  return (
    <div className={s.typing} role="status">
      {shown.length > 0 && (
        <span className={s.dots} aria-hidden>
          <i />
          <i />
          <i />
        </span>
      )}
      <span>
        {shown.slice(0, 3).map((each, at) => (
          <span key={each.id}>
            {at > 0 && " · "}
            <b>{each.name}</b> {each.does}
          </span>
        ))}
        {shown.length > 3 && ` · and ${shown.length - 3} more`}
      </span>
    </div>
  );
}

/** Runs of this room that are put aside: their model is away, or a budget is used up. */
export function Held({ spaceId }: { spaceId: string }) {
  const runs = useLiveShallow((state) => Object.values(state.runs).filter((run) => run.spaceId === spaceId && heldBecause(run, clockTime) !== null));
  if (!runs.length) return null;
  return (
    <ul className={s.held} role="status">
      {runs.slice(-3).map((run) => (
        <li key={run.id}>
          <CirclePause size={14} aria-hidden />
          <span>
            <b><Who id={run.agentId} /></b> {heldBecause(run, clockTime)} <Link href={`/runs/${run.id}`}>See the run</Link>
          </span>
        </li>
      ))}
    </ul>
  );
}
