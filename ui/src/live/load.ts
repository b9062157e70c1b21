// Fetching what the rooms show, into the store, in the same way as events.
import { api, Problem } from "../api/client";
import type { Message, PinnedMessage, Space } from "../api/nouns";
import { divided, hole, loaded, noticed, opened, opening, replaced, room, trimmed, unopened, withAgent, without, withPins, withSpace } from "./reduce";
import { queries } from "./queries";
import type { State } from "./state";
import { change, store } from "./store";

const PAGE = 50;
const under = new Map<string, Promise<void>>();

/** The same question is asked once at a time. */
function once(name: string, work: () => Promise<void>): Promise<void> {
  const there = under.get(name);
  if (there) return there;
  const begun = work().finally(() => under.delete(name));
  under.set(name, begun);
  return begun;
}

export async function loadSpaces(): Promise<void> {
  const found: Space[] = [];
  let cursor: string | undefined;
  do {
    const page = await api.spaces(cursor);
    found.push(...page.items);
    cursor = page.next;
  } while (cursor);
  change((state) => {
    let next = { ...state, spaces: {}, order: [] as string[], known: true };
    for (const space of found) next = { ...withSpace(next, space) };
    return next;
  });
}

export async function loadNames(): Promise<void> {
  // The views of agents ask for the same list: at the same time, or soon after, it is one question.
  const [agents, people] = await Promise.all([queries.fetchQuery({ queryKey: ["agents"], queryFn: () => api.agents(), staleTime: 0 }), api.people()]);
  change((state) => {
    let next: State = { ...state, paused: {}, allPaused: !!agents.pausedAt };
    for (const agent of agents.items) next = withAgent(next, agent);
    const members = { ...next.members };
    for (const person of people.items) members[person.id] = { id: person.id, name: person.name, kind: "person", joinedAt: person.createdAt, avatar: person.avatar };
    return { ...next, members };
  });
}

const FRESH_MS = 10_000;
let namesAt = 0;

/** Before somebody is chosen from a list: not everybody is told of everybody who is new. */
export function freshNames(): void {
  if (Date.now() - namesAt < FRESH_MS) return;
  namesAt = Date.now();
  void once("names", loadNames).catch(() => undefined);
}

/** What members have pinned in a room; it is kept up to date by events from then on. */
export async function loadPins(spaceId: string): Promise<PinnedMessage[]> {
  const { items } = await api.pins(spaceId);
  change((state) => withPins(state, spaceId, items.map((each) => each.id)));
  return items;
}

/** The newest messages of a room, and its last runs, which say what each answer cost and who stayed silent. */
export function openRoom(spaceId: string): Promise<void> {
  change((state) => divided(state, spaceId));
  return once(`open/${spaceId}`, async () => {
    const there = room(store.getState(), spaceId);
    if (there.loaded) {
      await catchUp(spaceId);
      return;
    }
    change((state) => opening(state, spaceId));
    const [space, page] = await Promise.all([
      store.getState().spaces[spaceId] ?? api.space(spaceId),
      api.messages(spaceId, { limit: PAGE }),
    ]).catch((error: unknown) => {
      change((state) => unopened(state, spaceId));
      throw error;
    });
    change((state) => {
      const next = state.spaces[space.id] ? state : withSpace(state, space);
      return divided(opened(next, space.id, page.items, !page.next), space.id);
    });
    void loadRuns(space.id);
    void loadPins(space.id).catch(() => undefined);
    freshNames();
  });
}

async function loadRuns(spaceId: string): Promise<void> {
  const page = await api.runs({ spaceId, limit: 50 }).catch(() => null);
  if (!page) return;
  change((state) => {
    const runs = { ...state.runs };
    for (const run of page.items) runs[run.id] = run;
    let next = { ...state, runs };
    for (const run of [...page.items].reverse()) next = noticed(next, run);
    return next;
  });
}

export function loadOlder(spaceId: string): Promise<void> {
  return once(`older/${spaceId}`, async () => {
    const there = room(store.getState(), spaceId);
    const first = there.messages[0];
    if (there.complete || !first) return;
    const page = await api.messages(spaceId, { before: first.seq, limit: 100 });
    change((state) => loaded(state, spaceId, page.items, { complete: !page.next || page.items.length === 0 }));
  });
}

/** What came while nobody looked; and whatever is missing in between. */
export async function catchUp(spaceId: string): Promise<void> {
  for (let rounds = 0; rounds < 50; rounds++) {
    const messages = room(store.getState(), spaceId).messages;
    const missing = hole(messages);
    const after = missing?.after ?? messages.at(-1)?.seq ?? 0;
    const page = await api.messages(spaceId, { after, limit: 200 });
    if (page.items.length) change((state) => loaded(state, spaceId, page.items));
    if (!page.next && !hole(room(store.getState(), spaceId).messages)) return;
  }
}

/** Everything back to a message, so that one can go there. */
export async function loadBackTo(spaceId: string, seq: number): Promise<void> {
  for (let rounds = 0; rounds < 200; rounds++) {
    const there = room(store.getState(), spaceId);
    const first = there.messages[0];
    if (!first || first.seq <= seq || there.complete) return;
    const page = await api.messages(spaceId, { before: first.seq, limit: 200 });
    if (!page.items.length) return;
    change((state) => loaded(state, spaceId, page.items, { complete: !page.next }));
  }
}

/** After the line was cut, or the cursor was too old: load again what is shown, and keep it on screen meanwhile. */
export async function reload(openSpaceId: string | null): Promise<void> {
  await Promise.all([loadSpaces(), loadNames()]);
  const shown = openSpaceId !== null && !!store.getState().rooms[openSpaceId];
  // Rooms that nobody looks at are forgotten, and loaded when they are opened.
  change((state) => ({ ...state, rooms: Object.fromEntries(Object.entries(state.rooms).filter(([id]) => id === openSpaceId)) }));
  if (!shown) return;
  try {
    await loadAnew(openSpaceId);
    await catchUp(openSpaceId);
  } catch (error) {
    if (!(error instanceof Problem) || error.passes) throw error;
    // It is gone, or it is there and not theirs to read any more: whoever looks at it is told which.
    change((state) => (error.status === 404 ? without(state, openSpaceId) : { ...state, rooms: {} }));
  }
}

/** As far back as it was loaded. What the office does not have any more is not kept: it may come back from a backup. */
async function loadAnew(spaceId: string): Promise<void> {
  const before = new Set(room(store.getState(), spaceId).messages);
  const from = room(store.getState(), spaceId).messages[0]?.seq ?? 0;
  const found: Message[] = [];
  let complete = false;
  do {
    const page = await api.messages(spaceId, { before: found[0]?.seq, limit: 200 });
    found.unshift(...page.items);
    complete = !page.next || !page.items.length;
  } while (!complete && (found[0]?.seq ?? 0) > from);
  change((state) => replaced(state, spaceId, found, before, complete));
}

/** A room keeps only its end when it is left, or read at its end: thousands of messages need not stay in memory. */
export function trim(spaceId: string, keepLast = 200): void {
  change((state) => trimmed(state, spaceId, keepLast));
}
