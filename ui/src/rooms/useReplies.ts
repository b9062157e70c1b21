import { useEffect, useMemo, useState } from "react";
import { api } from "../api/client";
import type { Message } from "../api/nouns";
import { stream } from "../live/stream";
import { useLiveShallow } from "../live/store";

const PAGE = 200;

/**
 * Everything that answers a message. What the room has loaded comes from there; what lies between the message and that,
 * or was let go meanwhile, is looked through here.
 */
export function useReplies(spaceId: string, root: Message | undefined): { replies: Message[]; loading: boolean; error: unknown; again(): void } {
  const there = useLiveShallow((state) => (root ? (state.rooms[spaceId]?.messages ?? []).filter((each) => each.replyTo === root.id) : []));
  const first = useLiveShallow((state) => state.rooms[spaceId]?.messages[0]?.seq ?? null);
  const [older, setOlder] = useState<Record<string, Message>>({});
  const [covered, setCovered] = useState(0);
  const [error, setError] = useState<unknown>(null);
  const after = Math.max(covered, root?.seq ?? 0);
  const missing = !!root && first !== null && after < first - 1;

  useEffect(() => {
    if (!root || first === null || !missing || error) return;
    let stopped = false;
    void api.messages(spaceId, { after, limit: PAGE }).then(
      ({ items, next }) => {
        if (stopped) return;
        const found = items.filter((each) => each.replyTo === root.id);
        if (found.length) setOlder((before) => ({ ...before, ...Object.fromEntries(found.map((each) => [each.id, each])) }));
        setCovered(next ? (items.at(-1)?.seq ?? first) : first);
      },
      (problem: unknown) => !stopped && setError(problem),
    );
    return () => {
      stopped = true;
    };
  }, [spaceId, root?.id, missing, after, error]);

  // Those that the room does not hold are changed by nobody else.
  useEffect(
    () =>
      stream.listen((event) => {
        if (event.type === "message_updated" || event.type === "message_deleted") {
          const message = event.message;
          setOlder((before) => (before[message.id] ? { ...before, [message.id]: message } : before));
        }
        if (event.type === "reaction_added" || event.type === "reaction_removed") {
          const id = event.reaction.messageId;
          setOlder((before) => {
            if (before[id]) void api.message(id).then((now) => setOlder((all) => ({ ...all, [id]: now })), () => undefined);
            return before;
          });
        }
      }),
    [],
  );

  const replies = useMemo(() => {
    const all = { ...older, ...Object.fromEntries(there.map((each) => [each.id, each])) };
    return Object.values(all).sort((a, b) => a.seq - b.seq);
  }, [older, there]);
  return { replies, loading: (missing || first === null) && !error, error, again: () => setError(null) };
}
