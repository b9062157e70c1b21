// What was sent and has not arrived: kept on this device, tried again, in order per room, and never doubled, since every
// try carries the same clientMessageId. Tabs share it: each message has a place of its own, and one tab sends at a time.
import { createStore } from "zustand/vanilla";
import { api, Problem } from "../api/client";
import type { File_, Message } from "../api/nouns";
import { toast } from "../parts/toasts";
import { outboxFull } from "../words/en";
import { keep, keptUnder, onKeptElsewhere } from "./kept";
import { loaded } from "./reduce";
import { change, store } from "./store";

export type Unsent = {
  clientMessageId: string;
  spaceId: string;
  text: string;
  replyTo?: string;
  attachments: File_[];
  createdAt: string; // no two are the same: it is their order
  tries: number;
  failed?: string; // what to tell, when trying again will not help
};

const MOST = 50;
export const outbox = createStore<{ items: Unsent[] }>(() => ({ items: [] }));
const busy = new Set<string>();
const onlyHere = new Set<string>(); // what the device would not keep
let owner = "";
let last = 0;

const prefix = (): string => `outbox.${owner}.`;

export function openOutbox(me: string): void {
  if (!owner) onKeptElsewhere(prefix, look);
  owner = me;
  look();
  sendAll();
}

/** What all tabs have, and what only this one could keep. */
function look(): void {
  const kept = Object.values(keptUnder<Unsent>(prefix()));
  const here = outbox.getState().items.filter((item) => onlyHere.has(item.clientMessageId));
  outbox.setState({ items: [...kept, ...here].sort((a, b) => a.createdAt.localeCompare(b.createdAt)) });
}

function put(item: Unsent): void {
  if (keep(prefix() + item.clientMessageId, item)) onlyHere.delete(item.clientMessageId);
  else onlyHere.add(item.clientMessageId);
  const { items } = outbox.getState();
  const known = items.some((each) => each.clientMessageId === item.clientMessageId);
  outbox.setState({ items: known ? items.map((each) => (each.clientMessageId === item.clientMessageId ? item : each)) : [...items, item] });
}

export function sendAll(): void {
  for (const spaceId of new Set(outbox.getState().items.map((item) => item.spaceId))) void drain(spaceId);
}

/** Whether it was taken; if not, somebody has been told why. */
export function send(spaceId: string, text: string, more: { replyTo?: string; attachments?: File_[] } = {}): boolean {
  if (outbox.getState().items.length >= MOST) {
    toast(outboxFull(MOST));
    return false;
  }
  last = Math.max(Date.now(), last + 1);
  put({
    clientMessageId: crypto.randomUUID?.() ?? `${last}-${Math.random()}`,
    spaceId, text, replyTo: more.replyTo, attachments: more.attachments ?? [],
    createdAt: new Date(last).toISOString(), tries: 0,
  });
  void drain(spaceId);
  return true;
}

export function discard(clientMessageId: string): void {
  keep(prefix() + clientMessageId, undefined);
  onlyHere.delete(clientMessageId);
  outbox.setState({ items: outbox.getState().items.filter((item) => item.clientMessageId !== clientMessageId) });
}

export function retry(clientMessageId: string): void {
  const item = outbox.getState().items.find((each) => each.clientMessageId === clientMessageId);
  if (!item) return;
  put({ ...item, failed: undefined });
  void drain(item.spaceId);
}

async function drain(spaceId: string): Promise<void> {
  if (busy.has(spaceId)) return;
  busy.add(spaceId);
  try {
    if ("locks" in navigator) await navigator.locks.request(`bullpen-outbox-${spaceId}`, () => sendRest(spaceId));
    else await sendRest(spaceId);
  } finally {
    busy.delete(spaceId);
  }
}

async function sendRest(spaceId: string): Promise<void> {
  for (;;) {
    look(); // another tab may have sent some of it
    const item = outbox.getState().items.find((each) => each.spaceId === spaceId && !each.failed);
    if (!item || !(await tried(item))) return;
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
    if (!outbox.getState().items.some((each) => each.clientMessageId === item.clientMessageId)) return true; // taken back meanwhile
    if (problem.status === 401) return false; // it goes out when they have signed in again
    if (problem.passes) {
      const wait = (problem.retryAfter ?? Math.min(30, 2 ** item.tries)) * 1000;
      put({ ...item, tries: item.tries + 1 });
      setTimeout(() => void drain(item.spaceId), wait);
      return false;
    }
    put({ ...item, failed: problem.status === 409 ? "This draft was already used." : problem.message });
    return true;
  }
}

function arrived(message: Message): void {
  const there = store.getState().rooms[message.spaceId];
  if (there?.loaded) change((state) => loaded(state, message.spaceId, [message]));
}
