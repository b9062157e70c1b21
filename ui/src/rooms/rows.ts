// The rows of a room's timeline, out of what is known. Pure.
import type { Message } from "../api/nouns";
import type { Unsent } from "../live/outbox";
import type { Notice, Partial_, Room } from "../live/state";

export type Row =
  | { kind: "day"; key: string; at: string }
  | { kind: "new"; key: string; count: number; at: string }
  | { kind: "message"; key: string; message: Message; tight: boolean; runEnds: boolean; replies: number }
  | { kind: "unsent"; key: string; item: Unsent; tight: boolean }
  | { kind: "partial"; key: string; partial: Partial_; tight: boolean }
  | { kind: "notice"; key: string; notice: Notice }
  | { kind: "start"; key: string };

const JOIN_MS = 5 * 60_000;

// Rows are made anew with every change, and asking a date for its day is the dearest part of it.
const days = new WeakMap<Message, string>();

function dayOf(message: Message): string {
  let known = days.get(message);
  if (known === undefined) days.set(message, (known = new Date(message.createdAt).toDateString()));
  return known;
}

function joins(before: { by: string; at: number } | null, by: string, at: number): boolean {
  return !!before && before.by === by && at - before.at < JOIN_MS;
}

export function keyOf(room: Room, message: Message): string {
  return room.keys[message.id] ?? message.clientMessageId ?? (message.metadata.callId as string | undefined) ?? message.id;
}

/** More is unread than is loaded: where it begins is not here yet. */
export function isUnreadFarAbove(room: Room): boolean {
  const first = room.messages[0]?.seq;
  return room.dividerSeq !== null && !room.complete && first !== undefined && room.dividerSeq < first - 1;
}

export function rowsOf(room: Room, unsent: readonly Unsent[], meId: string | undefined): Row[] {
  const rows: Row[] = [];
  if (room.complete) rows.push({ kind: "start", key: "start" });
  let lastDay = "";
  let before: { by: string; at: number } | null = null;
  let divided = room.dividerSeq === null || isUnreadFarAbove(room);
  const notices = new Map<number, Notice[]>();
  for (const notice of room.notices) notices.set(notice.afterSeq, [...(notices.get(notice.afterSeq) ?? []), notice]);
  const lastOfRun = new Map<string, string>();
  // All answers to a message come after it, so all of them are loaded if it is.
  const replies = new Map<string, number>();
  for (const message of room.messages) if (message.replyTo && !message.deletedAt) replies.set(message.replyTo, (replies.get(message.replyTo) ?? 0) + 1);
  for (const message of room.messages) if (message.runId && message.type !== "tool") lastOfRun.set(message.runId, message.id);

  for (const message of room.messages) {
    if (dayOf(message) !== lastDay) {
      // Not above the first one while there may be older ones of that day: the row would move when they are loaded, and
      // what somebody reads with it.
      const begins = lastDay !== "" || room.complete;
      lastDay = dayOf(message);
      if (begins) rows.push({ kind: "day", key: `day/${lastDay}`, at: message.createdAt });
      before = null;
    }
    if (!divided && message.seq > (room.dividerSeq ?? 0) && message.authorId !== meId) {
      divided = true;
      const count = room.messages.filter((each) => each.seq >= message.seq && each.authorId !== meId).length;
      rows.push({ kind: "new", key: "new", count, at: message.createdAt });
      before = null;
    }
    const at = Date.parse(message.createdAt);
    const plain = message.authorKind !== "system" && !message.replyTo;
    rows.push({
      kind: "message", key: keyOf(room, message), message,
      tight: plain && joins(before, message.authorId, at),
      runEnds: !!message.runId && lastOfRun.get(message.runId) === message.id,
      replies: replies.get(message.id) ?? 0,
    });
    before = message.authorKind === "system" ? null : { by: message.authorId, at };
    for (const notice of notices.get(message.seq) ?? []) {
      rows.push({ kind: "notice", key: notice.key, notice });
      before = null;
    }
  }
  for (const partial of Object.values(room.partials)) {
    rows.push({ kind: "partial", key: partial.key, partial, tight: joins(before, partial.agentId, partial.at) });
    before = { by: partial.agentId, at: partial.at };
  }
  const there = new Set(room.messages.slice(-200).map((message) => message.clientMessageId));
  for (const item of unsent) {
    if (there.has(item.clientMessageId)) continue;
    const at = Date.parse(item.createdAt);
    rows.push({ kind: "unsent", key: item.clientMessageId, item, tight: joins(before, meId ?? "", at) && !item.replyTo });
    before = { by: meId ?? "", at };
  }
  return rows;
}
