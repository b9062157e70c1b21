// What was sent and has not arrived: kept on this device, tried again, in order per room, and never doubled, since every
// try carries the same clientMessageId.
import { createStore } from "zustand/vanilla";
import { api, Problem } from "../api/client";
import type { File_, Message } from "../api/nouns";
import { keep, kept } from "./kept";
import { loaded } from "./reduce";
import { change, store } from "./store";

export type Unsent = {
  clientMessageId: string;
  spaceId: string;
  text: string;
  replyTo?: string;
  attachments: File_[];
  createdAt: string;
  tries: number;
  failed?: string; // what to tell, when trying again will not help
};

const MOST = 50;
export const outbox = createStore<{ items: Unsent[] }>(() => ({ items: [] }));
const busy = new Set<string>();
let owner = "";

const name = (): string => `outbox.${owner}`;

function set(items: Unsent[]): void {
  outbox.setState({ items });
  keep(name(), items.length ? items : undefined);
}

export function openOutbox(me: string): void {
  owner = me;
  outbox.setState({ items: kept<Unsent[]>(name(), []) });
  sendAll();
}

export function sendAll(): void {
  for (const spaceId of new Set(outbox.getState().items.map((item) => item.spaceId))) void drain(spaceId);
}

export function send(spaceId: string, text: string, more: { replyTo?: string; attachments?: File_[] } = {}): void {
  const item: Unsent = {
    clientMessageId: crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`,
    spaceId, text, replyTo: more.replyTo, attachments: more.attachments ?? [],
    createdAt: new Date().toISOString(), tries: 0,
  };
  set([...outbox.getState().items, item].slice(-MOST));
  void drain(spaceId);
}

export function discard(clientMessageId: string): void {
  set(outbox.getState().items.filter((item) => item.clientMessageId !== clientMessageId));
}

export function retry(clientMessageId: string): void {
  const items = outbox.getState().items.map((item) => (item.clientMessageId === clientMessageId ? { ...item, failed: undefined } : item));
  set(items);
  const item = items.find((each) => each.clientMessageId === clientMessageId);
  if (item) void drain(item.spaceId);
}

async function drain(spaceId: string): Promise<void> {
  if (busy.has(spaceId)) return;
  busy.add(spaceId);
  try {
    for (;;) {
      const item = outbox.getState().items.find((each) => each.spaceId === spaceId && !each.failed);
      if (!item || !(await tried(item))) return;
    }
  } finally {
    busy.delete(spaceId);
  }
}

/** Whether the next may go. */
async function tried(item: Unsent): Promise<boolean> {
  try {
    const message = await api.post(item.spaceId, {
      text: item.text,
      clientMessageId: item.clientMessageId,
      ...(item.replyTo ? { replyTo: item.replyTo } : {}),
      ...(item.attachments.length ? { attachments: item.attachments.map((file) => file.id) } : {}),
    });
    arrived(message);
    discard(item.clientMessageId);
    return true;
  } catch (error) {
    const problem = error instanceof Problem ? error : new Problem(0, "error", String(error));
    if (problem.passes) {
      const wait = (problem.retryAfter ?? Math.min(30, 2 ** item.tries)) * 1000;
      set(outbox.getState().items.map((each) => (each === item ? { ...item, tries: item.tries + 1 } : each)));
      setTimeout(() => void drain(item.spaceId), wait);
      return false;
    }
    const failed = problem.status === 409 ? "This draft was already used." : problem.message;
    set(outbox.getState().items.map((each) => (each === item ? { ...item, failed } : each)));
    return true;
  }
}

function arrived(message: Message): void {
  const there = store.getState().rooms[message.spaceId];
  if (there?.loaded) change((state) => loaded(state, message.spaceId, [message]));
}
