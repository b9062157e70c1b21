// Pure: a state and what happened give the next state. Everything may come twice, and most things in any order.
import type { Agent, EventOf, Member, Message, OfficeEvent, Run, Space } from "../api/nouns";
import { mentions } from "../parts/mentions";
import { roleOf } from "../parts/role";
import { emptyRoom, type Known, type Notice, type Partial_, type Room, type State, type Typing } from "./state";

const KEPT_NOTICES = 200;
export const KEPT_RUNS = 500;

export function reduce(state: State, events: readonly OfficeEvent[]): State {
  let next = state;
  for (const event of events) next = one(next, event);
  return next;
}

function one(state: State, event: OfficeEvent): State {
  const known = event.cursor ? { ...state, cursor: event.cursor } : state;
  const spaceId = event.spaceId;
  switch (event.type) {
    case "message_created":
    case "message_updated":
    case "message_deleted":
      return stored(known, event.message, event.type === "message_created");
    case "reaction_added":
    case "reaction_removed":
      return reacted(known, event);
    case "message_streaming":
    case "tool.streaming":
      return streaming(known, event);
    case "agent_typing":
      return typing(known, spaceId, event.agentId, { at: Date.parse(event.at), runId: event.runId });
    case "person_typing":
      return writing(known, spaceId, event.personId, Date.parse(event.at));
    case "agent_done":
      return untyped(known, spaceId, event.agentId, event.runId);
    case "tool.started":
      return typing(known, spaceId, event.agentId, { at: Date.parse(event.at), runId: event.runId, tool: event.call.toolName, callId: event.call.callId, waiting: false });
    case "tool.done":
    case "tool.error":
      return settled(unused(known, event), event);
    case "tool.progress":
      return { ...known, progress: { ...known.progress, [event.call.callId]: event.call.progress ?? {} } as State["progress"] };
    case "tool.requires_action":
      // A run that goes on without the answer does not wait.
      return asked(typing(known, spaceId, event.agentId, { at: Date.parse(event.at), runId: event.runId, waiting: event.call.status === "waiting", approval: event.call.kind === "approval" }, true), event.call.callId, true);
    case "pending_resolved":
      return asked(known, event.call.callId, false);
    case "run_started":
    case "run_waiting":
    case "run_paused":
    case "run_resumed":
      return withRun(known, event.run);
    case "run_finished":
      return finished(known, event.run);
    case "space_created":
    case "space_updated":
      return withSpace(known, event.space);
    case "space_erased":
      return spaceId ? without(known, spaceId) : known;
    case "agent_created":
    case "agent_updated":
      return withAgent(known, event.agent);
    case "agent_deleted":
      return withoutMember(known, event.agentId);
    case "agents_paused":
      return { ...known, allPaused: true };
    case "agents_resumed":
      return { ...known, allPaused: false };
    case "message_pinned":
      return pinned(known, spaceId, event.pin.messageId, true);
    case "message_unpinned":
      return pinned(known, spaceId, event.pin.messageId, false);
    case "member_joined":
      return joined(known, spaceId, event.member, event.at);
    case "member_left":
      return left(known, spaceId, event.member.id);
    case "space_read":
      return spaceId ? patchSpace(known, spaceId, { readSeq: event.read.seq, unread: event.read.unread, mentions: event.read.mentions }) : known;
    case "presence":
      return presence(known, event.presence.personId, event.presence.here);
    case "reset":
      return { ...known, resets: known.resets + 1 };
    default:
      return known;
  }
}

// ── messages ────────────────────────────────────────────────────────────────────────────────────────────────────────

export function room(state: State, spaceId: string): Room {
  return state.rooms[spaceId] ?? emptyRoom;
}

function withRoom(state: State, spaceId: string, change: Partial<Room>): State {
  return { ...state, rooms: { ...state.rooms, [spaceId]: { ...room(state, spaceId), ...change } } };
}

/** Where a number is, or belongs. */
function place(messages: readonly Message[], seq: number): number {
  let low = 0;
  let high = messages.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((messages[middle] as Message).seq < seq) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Is `there` at least as new as `coming`? Answers and events may cross. */
function isNewer(there: Message, coming: Message): boolean {
  if (there.deletedAt && !coming.deletedAt) return true;
  if ((there.editedAt ?? "") > (coming.editedAt ?? "")) return true;
  const settledThere = there.type === "tool" && there.status !== "streaming" && there.status !== "requires_action";
  return settledThere && (coming.status === "streaming" || coming.status === "requires_action");
}

function put(messages: readonly Message[], message: Message): Message[] {
  const at = place(messages, message.seq);
  const there = messages[at];
  const next = messages.slice();
  if (there?.seq !== message.seq) next.splice(at, 0, message);
  else if (isNewer(there, message)) return next;
  else next[at] = message;
  return next;
}

function stored(state: State, message: Message, isNew: boolean): State {
  const there = room(state, message.spaceId);
  const at = place(there.messages, message.seq);
  const existing = there.messages[at]?.seq === message.seq;
  // A room that was never opened is loaded when it is; one far from its end gets what follows when it scrolls there.
  // While a room is being opened everything is kept: the answer that is under way may be older.
  const isOpening = !there.loaded && message.spaceId in state.rooms;
  const follows = isOpening || (there.loaded && (existing || isNew || at < there.messages.length));
  let next = isNew && there.writers[message.authorId] ? withRoom(state, message.spaceId, { writers: omit(there.writers, message.authorId) }) : state;
  if (follows) {
    const adopted = isNew ? adopt(there, message) : null;
    next = withRoom(next, message.spaceId, {
      messages: put(there.messages, message),
      partials: adopted?.partials ?? there.partials,
      keys: adopted?.key ? { ...there.keys, [message.id]: adopted.key } : there.keys,
    });
  }
  const space = next.spaces[message.spaceId];
  if (!space || !isNew || message.seq <= (space.lastSeq ?? 0)) return next;
  const mine = message.authorId === state.me?.id;
  const counts = !mine && message.seq > (space.readSeq ?? 0);
  const isMention = counts && !!state.me && mentions(message.text, [state.me]).length > 0;
  return patchSpace(next, space.id, {
    lastSeq: message.seq,
    ...(mine && (space.unread ?? 0) === 0 ? { readSeq: message.seq } : {}),
    unread: (space.unread ?? 0) + (counts ? 1 : 0),
    mentions: (space.mentions ?? 0) + (isMention ? 1 : 0),
  });
}

/** A message takes the row of the partial that it was, so that nothing jumps. */
function adopt(there: Room, message: Message): { key?: string; partials: Record<string, Partial_> } {
  const key = message.type === "tool" ? callKey(String(message.metadata.callId)) : textKey(message.id);
  if (!there.partials[key]) return { partials: there.partials };
  const { [key]: _, ...rest } = there.partials;
  return { key, partials: rest };
}

const textKey = (messageId: string): string => `text/${messageId}`;
const callKey = (callId: string): string => `call/${callId}`;

/** A page of history, however it overlaps with what is there. */
export function loaded(state: State, spaceId: string, page: readonly Message[], change: Partial<Room> = {}): State {
  const there = room(state, spaceId);
  const bySeq = new Map(there.messages.map((message) => [message.seq, message]));
  for (const message of page) {
    const before = bySeq.get(message.seq);
    if (!before || !isNewer(before, message)) bySeq.set(message.seq, message);
  }
  const messages = [...bySeq.values()].sort((a, b) => a.seq - b.seq);
  return withRoom(state, spaceId, { messages, loaded: true, ...change });
}

/** From now on what happens in a room is kept, while its messages are asked for. */
export function opening(state: State, spaceId: string): State {
  return spaceId in state.rooms ? state : withRoom(state, spaceId, {});
}

/** The newest page of a room, and what happened since it was asked for. */
export function opened(state: State, spaceId: string, page: readonly Message[], complete: boolean): State {
  const first = page[0]?.seq ?? 0;
  // An edit of something older is no use without what lies between.
  const came = room(state, spaceId).messages.filter((message) => complete || message.seq >= first);
  return loaded(withRoom(state, spaceId, { messages: came }), spaceId, page, { complete });
}

/** It could not be opened: nothing of it is kept. */
export function unopened(state: State, spaceId: string): State {
  if (state.rooms[spaceId]?.loaded !== false) return state;
  const { [spaceId]: _, ...rooms } = state.rooms;
  return { ...state, rooms };
}

/** What the office has now instead of what it had before; what came while it was asked for stays. */
export function replaced(state: State, spaceId: string, page: readonly Message[], before: ReadonlySet<Message>, complete: boolean): State {
  const there = room(state, spaceId);
  const came = there.messages.filter((message) => !before.has(message));
  const fresh = withRoom(state, spaceId, { messages: [...page], complete });
  const next = loaded(fresh, spaceId, came);
  const known = new Set(room(next, spaceId).messages.map((message) => message.id));
  return withRoom(next, spaceId, { notices: there.notices.filter((notice) => !notice.messageId || known.has(notice.messageId)) });
}

/** Where what is unread begins, for somebody who opens the room now. */
export function divided(state: State, spaceId: string): State {
  const there = state.rooms[spaceId];
  const space = state.spaces[spaceId];
  if (!there?.loaded || !space) return state;
  return withRoom(state, spaceId, { dividerSeq: (space.unread ?? 0) > 0 ? (space.readSeq ?? 0) : null });
}

/** Only the end of a room: the rest is loaded again by whoever scrolls there. */
export function trimmed(state: State, spaceId: string, keepLast: number): State {
  const there = state.rooms[spaceId];
  if (!there) return state;
  const messages = there.messages.slice(-keepLast);
  if (messages.length === there.messages.length) return there.dividerSeq === null ? state : withRoom(state, spaceId, { dividerSeq: null });
  const kept = new Set(messages.map((message) => message.id));
  const keys = Object.fromEntries(Object.entries(there.keys).filter(([id]) => kept.has(id)));
  return withRoom(state, spaceId, { messages, keys, complete: false, dividerSeq: null });
}

/** The first number that is missing between two messages that are there; null if there is none. */
export function hole(messages: readonly Message[]): { after: number; before: number } | null {
  for (let at = 1; at < messages.length; at++) {
    const [one, two] = [messages[at - 1] as Message, messages[at] as Message];
    if (two.seq - one.seq > 1) return { after: one.seq, before: two.seq };
  }
  return null;
}

function reacted(state: State, event: EventOf<"reaction_added" | "reaction_removed">): State {
  const { reaction, spaceId } = event;
  if (!spaceId) return state;
  const there = room(state, spaceId);
  const at = there.messages.findLastIndex((message) => message.id === reaction.messageId);
  const message = there.messages[at];
  if (!message) return state;
  const others = message.reactions.map((each) =>
    each.emoji === reaction.emoji
      ? { ...each, memberIds: each.memberIds.filter((id) => id !== reaction.memberId) }
      : each,
  );
  const added = event.type === "reaction_added";
  if (added) {
    const same = others.find((each) => each.emoji === reaction.emoji);
    if (same) same.memberIds = [...same.memberIds, reaction.memberId];
    else others.push({ emoji: reaction.emoji, memberIds: [reaction.memberId] });
  }
  const messages = there.messages.slice();
  messages[at] = { ...message, reactions: others.filter((each) => each.memberIds.length > 0) };
  return withRoom(state, spaceId, { messages });
}

// ── what is being written ───────────────────────────────────────────────────────────────────────────────────────────

function streaming(state: State, event: EventOf<"message_streaming" | "tool.streaming">): State {
  const { spaceId, agentId, runId, text } = event;
  if (!spaceId || !agentId || !runId || !state.rooms[spaceId]) return state;
  const there = room(state, spaceId);
  const at = Date.parse(event.at);
  // What has been posted may be followed by a late word of what it was.
  const newest = there.messages.slice(-8);
  if (event.type === "message_streaming") {
    const key = textKey(event.messageId);
    if (newest.some((message) => message.id === event.messageId)) return state;
    // It will not be sent here after all.
    if (!text) return withoutPartial(state, spaceId, key);
    return withRoom(state, spaceId, { partials: { ...there.partials, [key]: { key, kind: "text", agentId, runId, text, at } } });
  }
  const { callId, toolName, args } = event.call;
  // send_message shows as the message that it becomes.
  if (toolName === "send_message" || newest.some((message) => message.metadata.callId === callId)) return state;
  const key = callKey(callId);
  return withRoom(state, spaceId, { partials: { ...there.partials, [key]: { key, kind: "call", agentId, runId, text, toolName, args, at } } });
}

function withoutPartial(state: State, spaceId: string | undefined, key: string): State {
  const there = spaceId ? state.rooms[spaceId] : undefined;
  if (!spaceId || !there?.partials[key]) return state;
  const { [key]: _, ...partials } = there.partials;
  return withRoom(state, spaceId, { partials });
}

function typing(
  state: State, spaceId: string | undefined, agentId: string | undefined, change: Omit<Typing, "agentId">, onlyIfThere = false,
): State {
  if (!spaceId || !agentId || !state.rooms[spaceId]) return state;
  const there = room(state, spaceId);
  const before = there.typing[agentId];
  if (onlyIfThere && !before) return state;
  return withRoom(state, spaceId, { typing: { ...there.typing, [agentId]: { ...before, ...change, agentId } } });
}

/** The call is over. Another one that has begun since goes on being named. */
function unused(state: State, event: EventOf<"tool.done" | "tool.error">): State {
  const named = event.spaceId && event.agentId ? state.rooms[event.spaceId]?.typing[event.agentId]?.callId : undefined;
  const at = Date.parse(event.at);
  if (named && named !== event.call.callId) return state;
  return typing(state, event.spaceId, event.agentId, { at, tool: undefined, callId: undefined, waiting: false }, true);
}

function untyped(state: State, spaceId: string | undefined, agentId: string | undefined, runId?: string): State {
  if (!spaceId || !agentId || !state.rooms[spaceId]) return state;
  const there = room(state, spaceId);
  const { [agentId]: _, ...rest } = there.typing;
  const partials = Object.fromEntries(Object.entries(there.partials).filter(([, each]) => each.runId !== runId));
  return withRoom(state, spaceId, { typing: rest, partials });
}

const omit = <T>(all: Record<string, T>, name: string): Record<string, T> => {
  const { [name]: _, ...rest } = all;
  return rest;
};

/** A person is typing. Only said of a room that is open here, and never of oneself. */
function writing(state: State, spaceId: string | undefined, personId: string, at: number): State {
  if (!spaceId || !state.rooms[spaceId] || personId === state.me?.id) return state;
  return withRoom(state, spaceId, { writers: { ...room(state, spaceId).writers, [personId]: at } });
}

const WRITES_MS = 8_000; // whoever goes on typing says so again before that

/** Partials that nobody has added to for a while are dropped quietly. */
export function expire(state: State, now: number, after = 10_000): State {
  let next = state;
  for (const [spaceId, there] of Object.entries(state.rooms)) {
    const old = Object.values(there.partials).filter((each) => now - each.at > after && !there.typing[each.agentId]);
    const idle = Object.values(there.typing).filter((each) => now - each.at > 15 * 60_000);
    const gone = Object.values(there.writers).some((at) => now - at > WRITES_MS);
    if (!old.length && !idle.length && !gone) continue;
    const writers = gone ? Object.fromEntries(Object.entries(there.writers).filter(([, at]) => now - at <= WRITES_MS)) : there.writers;
    const partials = Object.fromEntries(Object.entries(there.partials).filter(([, each]) => !old.includes(each)));
    const stillTyping = Object.fromEntries(Object.entries(there.typing).filter(([, each]) => !idle.includes(each)));
    next = withRoom(next, spaceId, { partials, typing: stillTyping, writers });
  }
  return next;
}

// ── calls and runs ──────────────────────────────────────────────────────────────────────────────────────────────────

function asked(state: State, callId: string, waits: boolean): State {
  if (!!state.waiting[callId] === waits) return state;
  const { [callId]: _, ...rest } = state.waiting;
  return { ...state, waiting: waits ? { ...rest, [callId]: true } : rest };
}

function settled(state: State, event: EventOf<"tool.done" | "tool.error">): State {
  const callId = event.call.callId;
  const { [callId]: _, ...progress } = state.progress;
  return asked(withoutPartial({ ...state, progress }, event.spaceId, callKey(callId)), callId, false);
}

/** Of runs that are over only the last are kept: a page may stay open for weeks. */
export function withRun(state: State, run: Run): State {
  const runs = { ...state.runs, [run.id]: run };
  const ids = Object.keys(runs);
  if (ids.length > KEPT_RUNS * 2)
    for (const id of ids.slice(0, -KEPT_RUNS)) if (runs[id]?.finishedAt) delete runs[id];
  return { ...state, runs };
}

function finished(state: State, run: Run): State {
  let next = withRun(state, run);
  if (run.spaceId) next = untyped(next, run.spaceId, run.agentId, run.id);
  return run.spaceId ? noticed(next, run) : next;
}

/** A line where somebody was addressed and chose silence, or was stopped. Runs that were loaded later go the same way. */
export function noticed(state: State, run: Run): State {
  const spaceId = run.trigger.spaceId ?? run.spaceId;
  const messageId = run.trigger.messageId;
  const kind = noticeOf(run);
  if (!spaceId || !messageId || !kind) return state;
  const there = state.rooms[spaceId];
  const message = there?.messages.find((each) => each.id === messageId);
  if (!there || !message) return state;
  const key = `notice/${run.id}`;
  if (there.notices.some((notice) => notice.key === key)) return state;
  if (kind === "silent" && !isAddressed(state, there, message, run.agentId)) return state;
  const at = run.finishedAt ?? run.startedAt;
  // What was said of it stands under the question; that it was stopped, where the room was by then.
  const seq = kind === "stopped" ? (there.messages.findLast((each) => each.createdAt <= at)?.seq ?? message.seq) : message.seq;
  const notice: Notice = {
    key, afterSeq: Math.max(seq, message.seq), kind, agentId: run.agentId, by: run.stoppedBy ?? undefined, runId: run.id,
    messageId, reason: run.silenceReason ?? undefined, at,
  };
  return withRoom(state, spaceId, { notices: [...there.notices, notice].slice(-KEPT_NOTICES) });
}

/** What a room is told of a run that said nothing. An answer that was a card, or that failed, is no silence. */
function noticeOf(run: Run): "silent" | "unsent" | "stopped" | null {
  if (run.stopReason === "cancelled") return "stopped";
  if (run.outcome === "unsent_text") return "unsent";
  return run.outcome === "silent" && run.trigger.kind === "message" ? "silent" : null;
}

function isAddressed(state: State, there: Room, message: Message, agentId: string): boolean {
  const agent = state.members[agentId];
  if (state.spaces[message.spaceId]?.kind === "dm" || (agent && mentions(message.text, [agent]).length > 0)) return true;
  return !!message.replyTo && there.messages.find((each) => each.id === message.replyTo)?.authorId === agentId;
}

function pinned(state: State, spaceId: string | undefined, messageId: string, on: boolean): State {
  const pins = spaceId ? state.rooms[spaceId]?.pins : undefined;
  if (!spaceId || !pins) return state;
  const others = pins.filter((id) => id !== messageId);
  return withRoom(state, spaceId, { pins: on ? [messageId, ...others] : others });
}

/** All pins of a room, as the office has them. */
export function withPins(state: State, spaceId: string, pins: string[]): State {
  return state.rooms[spaceId] ? withRoom(state, spaceId, { pins }) : state;
}

// ── spaces and members ──────────────────────────────────────────────────────────────────────────────────────────────

export function withSpace(state: State, space: Space): State {
  const before = state.spaces[space.id];
  // An event tells everybody the same: what is only mine stays as it is.
  const own = before ? { readSeq: before.readSeq, unread: before.unread, mentions: before.mentions, lastSeq: Math.max(before.lastSeq ?? 0, space.lastSeq ?? 0) } : {};
  const members = { ...state.members };
  for (const member of space.memberDetails ?? []) members[member.id] = { ...members[member.id], ...member };
  const merged = { ...space, ...own, memberDetails: space.memberDetails?.length ? space.memberDetails : (before?.memberDetails ?? []) };
  return { ...state, members, spaces: { ...state.spaces, [space.id]: merged }, order: before ? state.order : [...state.order, space.id] };
}

function patchSpace(state: State, spaceId: string, change: Partial<Space>): State {
  const there = state.spaces[spaceId];
  return there ? { ...state, spaces: { ...state.spaces, [spaceId]: { ...there, ...change } } } : state;
}

export function without(state: State, spaceId: string): State {
  const { [spaceId]: _, ...spaces } = state.spaces;
  const { [spaceId]: __, ...rooms } = state.rooms;
  return { ...state, spaces, rooms, order: state.order.filter((id) => id !== spaceId) };
}

function joined(state: State, spaceId: string | undefined, member: Member, at: string): State {
  const next = { ...state, members: { ...state.members, [member.id]: { ...state.members[member.id], ...member } } };
  const space = spaceId ? next.spaces[spaceId] : undefined;
  if (!space || space.members.includes(member.id)) return next;
  const there = next.rooms[space.id];
  const changed = patchSpace(next, space.id, { members: [...space.members, member.id], memberDetails: [...space.memberDetails, member] });
  if (!there?.loaded) return changed;
  const notice: Notice = { key: `joined/${member.id}/${at}`, afterSeq: there.messages.at(-1)?.seq ?? 0, kind: "joined", agentId: member.id, at };
  return withRoom(changed, space.id, { notices: [...there.notices, notice].slice(-KEPT_NOTICES) });
}

function left(state: State, spaceId: string | undefined, memberId: string): State {
  const space = spaceId ? state.spaces[spaceId] : undefined;
  if (!space) return state;
  return patchSpace(state, space.id, {
    members: space.members.filter((id) => id !== memberId),
    memberDetails: space.memberDetails.filter((member) => member.id !== memberId),
  });
}

/** An agent as it is now: known everywhere at once, in rooms, in pickers and in the palette. */
export function withAgent(state: State, agent: Pick<Agent, "id" | "name" | "description" | "createdAt" | "pausedAt" | "avatar">): State {
  const before = state.members[agent.id];
  const known: Known = { id: agent.id, name: agent.name, kind: "agent", joinedAt: before?.joinedAt ?? agent.createdAt, role: roleOf(agent.description ?? ""), avatar: agent.avatar };
  const paused = agent.pausedAt ? { ...state.paused, [agent.id]: true as const } : omit(state.paused, agent.id);
  const spaces = before && before.name !== agent.name ? renamed(state.spaces, agent.id, agent.name) : state.spaces;
  return { ...state, paused, spaces, members: { ...state.members, [agent.id]: known } };
}

function renamed(spaces: State["spaces"], id: string, name: string): State["spaces"] {
  return Object.fromEntries(
    Object.entries(spaces).map(([key, space]) => [
      key,
      space.members.includes(id) ? { ...space, memberDetails: space.memberDetails.map((each) => (each.id === id ? { ...each, name } : each)) } : space,
    ]),
  );
}

/** Nobody can be chosen who is gone; what they said keeps their name as long as it is open here. */
function withoutMember(state: State, id: string | undefined): State {
  if (!id) return state;
  const { [id]: there, ...members } = state.members;
  return there ? { ...state, members, paused: omit(state.paused, id) } : state;
}

function presence(state: State, personId: string, isHere: boolean): State {
  const { [personId]: _, ...rest } = state.here;
  return { ...state, here: isHere ? { ...rest, [personId]: true } : rest };
}
