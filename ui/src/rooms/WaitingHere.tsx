// What waits for me in this room and has no row in it: calls of tools that the room is not shown. One click answers.
import { useEffect, useState } from "react";
import { Link } from "wouter";
import { callOfPending, CardView } from "../cards/CallCard";
import { emptyRoom } from "../live/state";
import { useLive } from "../live/store";
import { count } from "../words/en";
import { usePending } from "../work/data";
import s from "./rooms.module.css";

const ROW_COMES_MS = 1_000;

export function WaitingHere({ spaceId }: { spaceId: string }) {
  const pending = usePending().data;
  const messages = useLive((state) => (state.rooms[spaceId] ?? emptyRoom).messages);
  const rows = new Set(messages.map((each) => each.metadata.callId));
  // Older ones may have a row that is not loaded yet.
  const since = messages[0]?.createdAt ?? "";
  // A card of the room has a row, which may come a moment after the call: nobody shall begin to fill in another one.
  const hidden = pending?.needsMe.filter((call) => call.kind !== "space" && call.spaceId === spaceId && call.createdAt >= since && !rows.has(call.callId)) ?? [];
  const [first] = hidden;
  const [late, setLate] = useState<string>();
  useEffect(() => {
    const timer = setTimeout(() => setLate(first?.callId), ROW_COMES_MS);
    return () => clearTimeout(timer);
  }, [first?.callId]);
  if (!first || late !== first.callId) return null;
  return (
    <div className={s.waiting}>
      <CardView key={first.callId} call={callOfPending(first)} />
      {hidden.length > 1 && <Link href={`/pending?room=${spaceId}`}>{count(hidden.length - 1, "more waits", "more wait")} for you</Link>}
    </div>
  );
}
