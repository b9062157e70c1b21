import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { useStore } from "zustand";
import { useShallow } from "zustand/shallow";
import { api } from "../api/client";
import { outbox } from "../live/outbox";
import { useLive } from "../live/store";
import { Failed, Skeleton } from "../parts/Notice";
import { Composer } from "./Composer";
import { MessageRow, UnsentRow } from "./Message";
import { titleOf } from "./names";
import s from "./rooms.module.css";
import { addFiles } from "./uploads";
import { useReplies } from "./useReplies";

/** A message, everything that answers it, what is on its way, and a place to write. */
export function Thread({ spaceId, rootId }: { spaceId: string; rootId: string }) {
  const there = useLive((state) => state.rooms[spaceId]?.messages.find((each) => each.id === rootId));
  const fetched = useQuery({ queryKey: ["message", rootId], queryFn: () => api.message(rootId), enabled: !there });
  const space = useLive((state) => state.spaces[spaceId]);
  const title = useLive((state) => (space ? titleOf(space, state) : ""));
  const root = there ?? fetched.data;
  const { replies, loading, error, again } = useReplies(spaceId, root);
  const sent = new Set(replies.map((each) => each.clientMessageId));
  const items = useStore(outbox, useShallow((state) => state.items.filter((item) => item.replyTo === rootId)));
  const unsent = items.filter((item) => !sent.has(item.clientMessageId));
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    list.current?.scrollTo(0, list.current.scrollHeight);
  }, [unsent.length > 0, loading]);
  if (fetched.error) return <Failed error={fetched.error} />;
  if (!root || !space) return <Skeleton rows={2} />;
  const drop = (event: React.DragEvent): void => {
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    if (root.type !== "tool") addFiles({ spaceId, replyTo: rootId }, [...event.dataTransfer.files]);
  };
  return (
    <div className={s.thread} onDragOver={(event) => event.dataTransfer.types.includes("Files") && event.preventDefault()} onDrop={drop}>
      <div className={s.body} ref={list}>
        {[root, ...replies].map((message) => (
          <article key={message.clientMessageId ?? message.id} className={s.row}>
            <MessageRow message={message} tight={false} runEnds={false} inThread />
          </article>
        ))}
        {loading && <Skeleton rows={2} />}
        {error !== null && <Failed error={error} onRetry={again} />}
        {unsent.map((item) => (
          <article key={item.clientMessageId} className={s.row}>
            <UnsentRow item={item} tight={false} inThread />
          </article>
        ))}
        {!replies.length && !unsent.length && !loading && !error && <p className={s.sys}>No replies yet.</p>}
      </div>
      {root.type !== "tool" && <Composer key={rootId} space={space} title={title} replyTo={rootId} />}
    </div>
  );
}
