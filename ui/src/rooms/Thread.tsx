import { useQuery } from "@tanstack/react-query";
import { api } from "../api/client";
import { useLive, useLiveShallow } from "../live/store";
import { Failed, Skeleton } from "../parts/Notice";
import { Composer } from "./Composer";
import { MessageRow } from "./Message";
import { titleOf } from "./names";
import s from "./rooms.module.css";

/** A message, everything that answers it, and a place to do so. */
export function Thread({ spaceId, rootId }: { spaceId: string; rootId: string }) {
  const there = useLive((state) => state.rooms[spaceId]?.messages.find((each) => each.id === rootId));
  const fetched = useQuery({ queryKey: ["message", rootId], queryFn: () => api.message(rootId), enabled: !there });
  const replies = useLiveShallow((state) => (state.rooms[spaceId]?.messages ?? []).filter((each) => each.replyTo === rootId));
  const space = useLive((state) => state.spaces[spaceId]);
  const title = useLive((state) => (space ? titleOf(space, state) : ""));
  const root = there ?? fetched.data;
  if (fetched.error) return <Failed error={fetched.error} />;
  if (!root || !space) return <Skeleton rows={2} />;
  return (
    <>
      <div className={s.body}>
        {[root, ...replies].map((message) => (
          <article key={message.id} className={s.row}>
            <MessageRow message={message} tight={false} runEnds={false} inThread />
          </article>
        ))}
        {!replies.length && <p className={s.sys}>No replies yet.</p>}
      </div>
      {root.type !== "tool" && <Composer key={rootId} space={space} title={title} replyTo={rootId} />}
    </>
  );
}
