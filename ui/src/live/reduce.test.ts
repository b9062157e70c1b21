import { describe, expect, it } from "vitest";
import type { EventOf, Message, OfficeEvent, Run, Space } from "../api/nouns";
import { expire, hole, KEPT_RUNS, loaded, opened, opening, reduce, trimmed, unopened } from "./reduce";
import { emptyState, type State } from "./state";

const AT = "2026-11-16T09:00:00Z";

function message(seq: number, more: Partial<Message> = {}): Message {
  return {
    id: `msg_${seq}`, spaceId: "room", seq, authorId: "ada", authorKind: "agent", type: "text", text: `text ${seq}`, status: "complete",
    attachments: [], reactions: [], metadata: {}, depth: 0, createdAt: AT, ...more,
  } as Message;
}

const space = { id: "room", kind: "channel", name: "Room", members: ["me", "ada"], memberDetails: [], wake: { people: "all", agents: "none" }, lastSeq: 0, readSeq: 0, unread: 0, mentions: 0, createdAt: AT } as unknown as Space;
const me = { id: "me", kind: "person", name: "Mara", grants: [] } as unknown as State["me"];
const begun: State = loaded({ ...emptyState, me, spaces: { room: space }, order: ["room"], members: { ada: { id: "ada", kind: "agent", name: "Ada", joinedAt: AT } } }, "room", []);

const created = (m: Message): EventOf<"message_created"> => ({ type: "message_created", at: AT, spaceId: "room", message: m });
const texts = (state: State): string[] => (state.rooms.room?.messages ?? []).map((m) => m.text);

describe("what happened, reduced", () => {
  it("takes the same event twice as once", () => {
    const state = reduce(begun, [created(message(1)), created(message(1))]);
    expect(texts(state)).toEqual(["text 1"]);
    expect(state.spaces.room?.unread).toBe(1);
  });

  it("gives the same rows whether the answer or the event comes first", () => {
    const mine = message(1, { authorId: "me", clientMessageId: "c1" });
    const answerFirst = reduce(loaded(begun, "room", [mine]), [created(mine)]);
    const eventFirst = loaded(reduce(begun, [created(mine)]), "room", [mine]);
    expect(texts(answerFirst)).toEqual(texts(eventFirst));
  });

  it("keeps the newer of two versions, in whatever order they come", () => {
    const edited = message(1, { text: "edited", editedAt: "2026-11-16T09:05:00Z" });
    const update: OfficeEvent = { type: "message_updated", at: AT, spaceId: "room", message: edited };
    expect(texts(reduce(begun, [created(message(1)), update]))).toEqual(["edited"]);
    expect(texts(loaded(reduce(begun, [created(edited)]), "room", [message(1)]))).toEqual(["edited"]);
  });

  it("never opens a card again that was answered", () => {
    const asked = message(1, { type: "tool", status: "requires_action" });
    const done = message(1, { type: "tool", status: "complete" });
    const state = loaded(reduce(begun, [created(done)]), "room", [asked]);
    expect(state.rooms.room?.messages[0]?.status).toBe("complete");
  });

  it("lets a deleted message keep its place", () => {
    const gone: OfficeEvent = { type: "message_deleted", at: AT, spaceId: "room", message: message(2, { text: "", deletedAt: AT }) };
    const state = reduce(begun, [created(message(1)), created(message(2)), created(message(3)), gone]);
    expect(state.rooms.room?.messages.map((m) => [m.seq, !!m.deletedAt])).toEqual([[1, false], [2, true], [3, false]]);
  });

  it("keeps what happens in a room while it is being opened", () => {
    const closed = { ...begun, rooms: {} };
    const edited = message(1, { text: "edited", editedAt: "2026-11-16T09:05:00Z" });
    const update: OfficeEvent = { type: "message_updated", at: AT, spaceId: "room", message: edited };
    expect(texts(reduce(closed, [created(message(2))]))).toEqual([]);
    const meanwhile = reduce(opening(closed, "room"), [created(message(3)), update]);
    expect(texts(opened(meanwhile, "room", [message(1), message(2)], true))).toEqual(["edited", "text 2", "text 3"]);
    expect(texts(opened(meanwhile, "room", [message(2)], false))).toEqual(["text 2", "text 3"]);
    expect(unopened(meanwhile, "room").rooms).toEqual({});
  });

  it("finds a hole and closes it", () => {
    const state = reduce(begun, [created(message(1)), created(message(4))]);
    expect(hole(state.rooms.room?.messages ?? [])).toEqual({ after: 1, before: 4 });
    expect(hole(loaded(state, "room", [message(2), message(3)]).rooms.room?.messages ?? [])).toBeNull();
  });

  it("puts a message on the row of the partial that it was", () => {
    const streaming: OfficeEvent = { type: "message_streaming", at: AT, spaceId: "room", agentId: "ada", runId: "run_1", messageId: "msg_1", index: 0, text: "Signups ar" };
    const state = reduce(begun, [streaming]);
    const key = Object.keys(state.rooms.room?.partials ?? {})[0];
    const after = reduce(state, [created(message(1, { runId: "run_1", text: "Signups are up." }))]);
    expect(after.rooms.room?.partials).toEqual({});
    expect(after.rooms.room?.keys.msg_1).toBe(key);
  });

  it("takes a message back that will not be sent there", () => {
    const words = (text: string): OfficeEvent => ({ type: "message_streaming", at: AT, spaceId: "room", agentId: "ada", runId: "run_1", messageId: "msg_1", index: 0, text });
    expect(Object.values(reduce(begun, [words("not for you")]).rooms.room?.partials ?? {})).toHaveLength(1);
    expect(reduce(begun, [words("not for you"), words("")]).rooms.room?.partials).toEqual({});
  });

  it("ends a growing card with its call", () => {
    const call = { callId: "call_1", toolName: "chart" };
    const grows = { type: "tool.streaming", at: AT, spaceId: "room", agentId: "ada", runId: "run_1", call: { ...call, index: 0, runStep: 1, args: {} }, text: "{" } as OfficeEvent;
    const over = { type: "tool.error", at: AT, spaceId: "room", agentId: "ada", runId: "run_1", call: { ...call, args: null, result: {}, code: "abandoned" } } as OfficeEvent;
    expect(Object.keys(reduce(begun, [grows]).rooms.room?.partials ?? {})).toHaveLength(1);
    expect(reduce(begun, [grows, over]).rooms.room?.partials).toEqual({});
  });

  it("names the call that goes on when another one ends", () => {
    const told = (type: string, callId: string, toolName: string): OfficeEvent => ({ type, at: AT, spaceId: "room", agentId: "ada", runId: "run_1", call: { callId, toolName, args: null, result: null } }) as OfficeEvent;
    const state = reduce(begun, [told("tool.started", "call_1", "search"), told("tool.started", "call_2", "chart"), told("tool.done", "call_1", "search")]);
    expect(state.rooms.room?.typing.ada?.tool).toBe("chart");
    expect(reduce(state, [told("tool.done", "call_2", "chart")]).rooms.room?.typing.ada?.tool).toBeUndefined();
  });

  it("drops a partial that nobody goes on with", () => {
    const streaming: OfficeEvent = { type: "message_streaming", at: AT, spaceId: "room", agentId: "ada", runId: "run_1", messageId: "msg_1", index: 0, text: "half" };
    const state = expire(reduce(begun, [streaming]), Date.parse(AT) + 11_000);
    expect(state.rooms.room?.partials).toEqual({});
  });

  it("counts mentions of me, and not my own words", () => {
    const state = reduce(begun, [created(message(1, { text: "hey @mara" })), created(message(2, { authorId: "me", text: "@Mara is me" }))]);
    expect([state.spaces.room?.unread, state.spaces.room?.mentions]).toEqual([1, 1]);
  });

  it("says who was addressed and stayed silent", () => {
    const run = { id: "run_1", agentId: "ada", spaceId: "room", trigger: { kind: "message", messageId: "msg_1", spaceId: "room" }, outcome: "silent", status: "completed", messageIds: [], usage: {}, outside: [], startedAt: AT, finishedAt: AT } as unknown as Run;
    const finished: OfficeEvent = { type: "run_finished", at: AT, spaceId: "room", agentId: "ada", run };
    const addressed = reduce(begun, [created(message(1, { authorId: "me", text: "@Ada?" })), finished]);
    expect(addressed.rooms.room?.notices.map((notice) => notice.kind)).toEqual(["silent"]);
    const unasked = reduce(begun, [created(message(1, { authorId: "me", text: "hm" })), finished]);
    expect(unasked.rooms.room?.notices).toEqual([]);
  });

  it("adds and removes reactions once each", () => {
    const add: EventOf<"reaction_added"> = { type: "reaction_added", at: AT, spaceId: "room", reaction: { messageId: "msg_1", memberId: "me", emoji: "🎉" } };
    const state = reduce(begun, [created(message(1)), add, add]);
    expect(state.rooms.room?.messages[0]?.reactions).toEqual([{ emoji: "🎉", memberIds: ["me"] }]);
    expect(reduce(state, [{ ...add, type: "reaction_removed" }]).rooms.room?.messages[0]?.reactions).toEqual([]);
  });

  it("gives one state for any order of independent events", () => {
    const events = Array.from({ length: 40 }, (_, at) => created(message(at + 1)));
    const shuffled = [...events].sort((a, b) => (a.message.seq * 7919) % 41 - (b.message.seq * 7919) % 41);
    expect(texts(reduce(begun, shuffled))).toEqual(texts(reduce(begun, events)));
  });

  it("takes 10,000 events in a moment", () => {
    const events = Array.from({ length: 10_000 }, (_, at) => created(message(at + 1)));
    const from = performance.now();
    // As they come: some in every frame.
    let state = begun;
    for (let at = 0; at < events.length; at += 100) state = reduce(state, events.slice(at, at + 100));
    expect(texts(state)).toHaveLength(10_000);
    expect(performance.now() - from).toBeLessThan(3_000);
  });
});

describe("a run that is put aside", () => {
  const run = (more: Partial<Run>): Run => ({ id: "run_1", agentId: "ada", spaceId: "room", status: "waiting", startedAt: AT, trigger: { kind: "message" }, messageIds: [], usage: {}, outside: [], ...more }) as unknown as Run;
  const told = (type: "run_waiting" | "run_paused" | "run_resumed", more: Partial<Run>): OfficeEvent => ({ type, at: AT, spaceId: "room", agentId: "ada", runId: "run_1", run: run(more) });

  it("is known to wait for its model until it goes on", () => {
    const waits = reduce(begun, [told("run_waiting", { retryAt: "2026-11-16T09:05:00Z", error: "The provider is away." })]);
    expect(waits.runs.run_1?.retryAt).toBe("2026-11-16T09:05:00Z");
    expect(reduce(waits, [told("run_resumed", { retryAt: null })]).runs.run_1?.retryAt).toBeNull();
  });

  it("says which budget it waits for", () => {
    const waits = reduce(begun, [told("run_paused", { pausedReason: "The budget of the office is used up." })]);
    expect(waits.runs.run_1?.pausedReason).toContain("used up");
  });
});

describe("a page that stays open for weeks", () => {
  it("keeps the end of a room, and knows that there is more before it", () => {
    const full = loaded(begun, "room", Array.from({ length: 30 }, (_, at) => message(at + 1)), { complete: true });
    const state = trimmed(full, "room", 10);
    expect(state.rooms.room?.messages.map((each) => each.seq)).toEqual([21, 22, 23, 24, 25, 26, 27, 28, 29, 30]);
    expect(state.rooms.room?.complete).toBe(false);
    expect(trimmed(state, "room", 10)).toBe(state);
  });

  it("forgets old runs that are over, and none that goes on", () => {
    const run = (id: number, over: boolean): OfficeEvent => ({ type: "run_started", at: AT, run: { id: `run_${id}`, finishedAt: over ? AT : null } as unknown as Run });
    const state = reduce(begun, [run(0, false), ...Array.from({ length: KEPT_RUNS * 3 }, (_, at) => run(at + 1, true))]);
    expect(Object.keys(state.runs).length).toBeLessThanOrEqual(KEPT_RUNS * 2);
    expect(state.runs.run_0).toBeDefined();
    expect(state.runs[`run_${KEPT_RUNS * 3}`]).toBeDefined();
  });
});
