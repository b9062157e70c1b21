// What the page knows of the rooms. One object, changed by reduce.ts alone.
import type { Member, Me, Message, Run, Space } from "../api/nouns";

/** A message or a call that is still being written: shown, never stored. */
export type Partial_ = {
  key: string;
  kind: "text" | "call";
  agentId: string;
  runId: string;
  text: string;
  toolName?: string;
  args?: unknown;
  at: number;
};

export type Typing = { agentId: string; at: number; runId?: string; tool?: string; callId?: string; waiting?: boolean; approval?: boolean };

export type Notice = { key: string; afterSeq: number; kind: "silent" | "unsent" | "stopped" | "joined" | "left"; agentId: string; by?: string; runId?: string; messageId?: string; reason?: string; at: string };

export type Room = {
  messages: Message[]; // rising by seq, no doubles
  keys: Record<string, string>; // of rows that had another key before they were stored
  complete: boolean; // the beginning is loaded
  loaded: boolean;
  dividerSeq: number | null; // what is above was read when the room was opened
  partials: Record<string, Partial_>;
  typing: Record<string, Typing>;
  notices: Notice[];
  writers: Record<string, number>; // people who are typing, and when they were heard of last
  pins: string[] | null; // messages that were pinned, newest pin first; null: not asked for yet
};

/** A member, and for agents what they are for, in a word or two. */
export type Known = Member & { role?: string };

export type Link = "starting" | "live" | "retrying" | "offline" | "signedOut";

export type State = {
  me: Me | null;
  known: boolean; // which rooms there are
  spaces: Record<string, Space>;
  order: string[];
  rooms: Record<string, Room>;
  members: Record<string, Known>; // everybody seen anywhere, by id
  runs: Record<string, Run>;
  here: Record<string, true>; // people with the page open
  paused: Record<string, true>; // agents that somebody has paused
  allPaused: boolean; // every agent is
  progress: Record<string, { fraction?: number; message?: string }>; // of calls, by id
  waiting: Record<string, true>; // calls that ask for somebody, by id
  cursor: string | null;
  link: Link;
  retryAt: number;
  resets: number;
};

export const emptyRoom: Room = {
  messages: [], keys: {}, complete: false, loaded: false, dividerSeq: null, partials: {}, typing: {}, notices: [], writers: {}, pins: null,
};

export const emptyState: State = {
  me: null, known: false, spaces: {}, order: [], rooms: {}, members: {}, runs: {}, here: {}, paused: {}, allPaused: false, progress: {}, waiting: {}, cursor: null,
  link: "starting", retryAt: 0, resets: 0,
};
