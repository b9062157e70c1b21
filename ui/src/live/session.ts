// Who am I, and everything that begins once that is known.
import { api, Problem, refused } from "../api/client";
import type { Budget, Me, OfficeEvent } from "../api/nouns";
import { loadNames, loadSpaces, reload } from "./load";
import { openDrafts } from "./drafts";
import { openMuted } from "./muted";
import { openOutbox, sendAll } from "./outbox";
import { queries } from "./queries";
import { stream } from "./stream";
import { change, store } from "./store";
import { emptyState } from "./state";
import { callOut, notify } from "./notify";
import { done, toast } from "../parts/toasts";
import { budgetOf } from "../words/en";

/** The room that is open, so that a lost line is caught up there first. */
export const open = { spaceId: null as string | null };

const INVALIDATES: [RegExp, string[]][] = [
  [/^run_/, ["runs", "run", "agents", "usage", "firings"]],
  [/^task_/, ["tasks", "task", "firings"]],
  [/^skill_/, ["skills", "commands"]],
  [/^tool\./, ["run"]],
  [/^(tool\.requires_action|pending_resolved|tool\.done|tool\.error)$/, ["pending", "agents"]],
  [/^agent/, ["agents", "agent"]],
  [/^(block_|passage_|goal_|plan_)/, ["memory"]],
  [/^(member_|space_)/, ["members"]],
  [/^message_(un)?pinned$/, ["pins"]],
  [/^budget_/, ["usage", "agents"]],
];

let planned: ReturnType<typeof setTimeout> | null = null;
const stale = new Set<string>();

/** Queries are asked again after events that change them, at most twice a second. */
function invalidate(event: OfficeEvent): void {
  if (event.type === "tool.streaming" || event.type === "agent_typing" || event.type === "agent_done") return;
  for (const [pattern, names] of INVALIDATES) if (pattern.test(event.type)) for (const name of names) stale.add(name);
  if (!stale.size || planned) return;
  planned = setTimeout(() => {
    planned = null;
    const names = [...stale];
    stale.clear();
    for (const name of names) void queries.invalidateQueries({ queryKey: [name] });
  }, 500);
}

function onEvent(event: OfficeEvent): void {
  invalidate(event);
  callOut(event);
  notify(event);
  if (event.type === "budget_warned" || event.type === "budget_reached") tellBudget(event.budget);
  const mine = (event.type === "member_joined" || event.type === "member_left") && event.member.id === store.getState().me?.id;
  if (event.type === "member_joined" && mine && event.spaceId) void api.space(event.spaceId).then((space) => change((s) => ({ ...s, spaces: { ...s.spaces, [space.id]: space }, order: s.order.includes(space.id) ? s.order : [...s.order, space.id] })));
  if (event.type === "member_left" && mine) void insist(loadSpaces);
  if (event.type === "reset") catchUp();
}

/** What was missed cannot be told event by event: everything that is shown is asked for again. */
function catchUp(): void {
  void insist(() => reload(open.spaceId));
  void queries.invalidateQueries();
}

/** Only owners are told. */
function tellBudget(budget: Budget): void {
  const { members, spaces } = store.getState();
  const text = budgetOf(budget, (id) => members[id]?.name ?? spaces[id]?.name ?? id);
  // Where a room is open, it says so itself, with what can be done about it.
  if (budget.reached && !open.spaceId) toast(text);
  else if (!budget.reached) done(text);
}

let begun = false;

export async function begin(me: Me): Promise<void> {
  change((state) => ({ ...state, me }));
  openDrafts(me.id);
  openMuted(me.id);
  stream.start();
  if (!begun) {
    begun = true;
    refused.tell = stream.doubt;
    stream.listen(onEvent);
    stream.onCatchUp = () => {
      catchUp();
      sendAll();
    };
  }
  openOutbox(me.id);
  await insist(async () => void (await Promise.all([loadSpaces(), loadNames()])));
}

/** If the office goes away meanwhile, the page stays as it is, and this is done when it is back. */
async function insist(work: () => Promise<void>): Promise<void> {
  for (;;) {
    await stream.connected();
    try {
      await work();
      return;
    } catch (error) {
      if (!(error instanceof Problem && error.passes)) throw error;
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
  }
}

export async function signOut(): Promise<void> {
  await api.signOut().catch(() => undefined);
  stream.stop();
  change(() => emptyState);
  window.location.assign("/");
}
