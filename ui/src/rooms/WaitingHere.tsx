// What waits for me in this room and has no row in it: calls of tools that the room is not shown. One click answers.
import { Link } from "wouter";
import { callOfPending, CardView } from "../cards/CallCard";
import { emptyRoom } from "../live/state";
import { useLive } from "../live/store";
import { count } from "../words/en";
import { usePending } from "../work/data";
import s from "./rooms.module.css";

export function WaitingHere({ spaceId }: { spaceId: string }) {
  const pending = usePending().data;
  const messages = useLive((state) => (state.rooms[spaceId] ?? emptyRoom).messages);
  const rows = new Set(messages.map((each) => each.metadata.callId));
  // Older ones may have a row that is not loaded yet.
  const since = messages[0]?.createdAt ?? "";
  const hidden = pending?.needsMe.filter((call) => call.spaceId === spaceId && call.createdAt >= since && !rows.has(call.callId)) ?? [];
  const [first] = hidden;
  if (!first) return null;
  return (
    <div className={s.waiting}>
      <CardView key={first.callId} call={callOfPending(first)} />
      {hidden.length > 1 && <Link href={`/pending?room=${spaceId}`}>{count(hidden.length - 1, "more waits", "more wait")} for you</Link>}
    </div>
  );
}
