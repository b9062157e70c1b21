import { describe, expect, it } from "vitest";
import type { Message } from "../api/nouns";
import type { Unsent } from "../live/outbox";
import { emptyRoom, type Room } from "../live/state";
import { isUnreadFarAbove, rowsOf } from "./rows";

function message(seq: number, more: Partial<Message> = {}): Message {
  return { id: `msg_${seq}`, spaceId: "room", seq, authorId: "ada", authorKind: "agent", type: "text", text: `t${seq}`, status: "complete", attachments: [], reactions: [], metadata: {}, depth: 0, createdAt: `2026-11-16T09:0${seq % 10}:00Z`, ...more } as Message;
}

const room = (messages: Message[], more: Partial<Room> = {}): Room => ({ ...emptyRoom, loaded: true, complete: true, messages, ...more });

describe("rows of a room", () => {
  it("joins what one author says within five minutes", () => {
    const rows = rowsOf(room([message(1), message(2), message(9), message(9, { seq: 10, authorId: "bo" })]), [], "me");
    expect(rows.filter((row) => row.kind === "message").map((row) => row.tight)).toEqual([false, true, false, false]);
  });

  it("divides what is new when the room is opened, and not by my own words", () => {
    const rows = rowsOf(room([message(1), message(2, { authorId: "me" }), message(3)], { dividerSeq: 1 }), [], "me");
    expect(rows.map((row) => row.kind)).toEqual(["start", "day", "message", "message", "new", "message"]);
  });

  it("does not say that unread begins where the loaded part begins", () => {
    const part = room([message(5), message(6)], { dividerSeq: 2, complete: false });
    expect(rowsOf(part, [], "me").map((row) => row.kind)).toEqual(["message", "message"]);
    expect(isUnreadFarAbove(part)).toBe(true);
    expect(isUnreadFarAbove({ ...part, dividerSeq: 4 })).toBe(false);
  });

  it("keeps a row's key from draft to stored message, and shows it once", () => {
    const item: Unsent = { clientMessageId: "c1", spaceId: "room", text: "hi", attachments: [], createdAt: "2026-11-16T09:03:00Z", tries: 0 };
    const before = rowsOf(room([message(1)]), [item], "me").at(-1);
    const after = rowsOf(room([message(1), message(2, { authorId: "me", clientMessageId: "c1" })]), [item], "me");
    expect(before?.key).toBe("c1");
    expect(after.filter((row) => row.key === "c1")).toHaveLength(1);
  });

  it("shows no day above messages whose day may begin earlier", () => {
    expect(rowsOf(room([message(1)], { complete: false }), [], "me").map((row) => row.kind)).toEqual(["message"]);
  });

  it("marks where a run ends", () => {
    const rows = rowsOf(room([message(1, { runId: "r" }), message(2, { runId: "r" })]), [], "me");
    expect(rows.filter((row) => row.kind === "message").map((row) => row.runEnds)).toEqual([false, true]);
  });
});
