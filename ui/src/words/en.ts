// Words that depend on numbers, names and times. No view joins strings by itself.
const plural = new Intl.PluralRules("en");
const list = new Intl.ListFormat("en", { type: "conjunction" });
const whole = new Intl.NumberFormat("en");

export function count(n: number, one: string, many = `${one}s`): string {
  return `${whole.format(n)} ${plural.select(n) === "one" ? one : many}`;
}

export function names(all: readonly string[], most = 3): string {
  const shown = all.slice(0, most);
  return list.format(all.length > most ? [...shown, count(all.length - most, "other")] : shown);
}

export function number(n: number): string {
  return whole.format(n);
}

/** `unpriced`: how many steps came from models that nobody has priced. They are not free: nobody knows what they cost. */
export function money(dollars: number | null | undefined, unpriced?: number | null): string {
  if (unpriced) return dollars ? `${money(dollars)} + steps without a price` : NO_PRICE;
  if (!dollars) return "free";
  if (dollars < 0.001) return "< $0.001";
  if (dollars < 0.1) return `$${dollars.toFixed(3)}`;
  return `$${dollars.toFixed(2)}`;
}

/** What somebody has spent today. */
export function spentToday(dollars: number | null | undefined, unpriced?: number | null): string {
  return `${dollars || unpriced ? money(dollars, unpriced) : "$0.00"}${unpriced && !dollars ? "" : " today"}`;
}

export function percent(share: number): string {
  return share > 0 && share < 0.01 ? "< 1 %" : `${Math.round(share * 100)} %`;
}

/** A part of a prompt, as people call it. */
export const promptPart = (name: string): string => PARTS[name] ?? name.replaceAll("_", " ");

const PARTS: Record<string, string> = {
  identity: "who it is", teaching: "how it works here", outside: "about text from outside", spaces: "its rooms", messages: "what was said before", waking: "what woke it",
};

export const NO_PRICE = "No price set";

export function took(ms: number): string {
  if (ms < 100) return "< 0.1 s";
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const minutes = Math.floor(ms / 60_000);
  return minutes < 60 ? `${minutes} min ${Math.round((ms % 60_000) / 1000)} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** How long it has taken up to now, in whole seconds: it is said anew each second. */
export function soFar(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

export function between(from: string, to: string | null | undefined): string {
  return took((to ? Date.parse(to) : Date.now()) - Date.parse(from));
}

/** What a run that is put aside waits for; null if it is not put aside. */
export function heldBecause(run: { finishedAt?: string | null; pausedReason?: string | null; retryAt?: string | null }, clock: (at: string) => string): string | null {
  if (run.finishedAt) return null;
  if (run.pausedReason) return `is put aside. ${run.pausedReason}`;
  return run.retryAt ? `waits for its model, which is asked again at ${clock(run.retryAt)}` : null;
}

export function budgetOf(budget: { kind: string; subjectId?: string | null; period: string; unit: string; amount: number; reached?: boolean }, nameOf: (id: string) => string): string {
  const whose = budget.subjectId ? `${nameOf(budget.subjectId)}` : "the whole office";
  const much = budget.unit === "tokens" ? count(budget.amount, "token") : `$${budget.amount}`;
  const used = budget.reached ? "is used up. What falls under it waits until it begins anew, or somebody raises the limit." : "is used to 80 %.";
  return `The ${budget.period === "day" ? "day" : "month"}'s budget of ${much} for ${whose} ${used}`;
}

/** Whose limit it is, for how long. */
export function budgetName(budget: { kind: string; period: string; unit: string }, called: string): string {
  const whose = budget.kind === "office" ? "the whole office" : budget.kind === "space" ? `#${called}` : called;
  return `At most, in ${budget.unit === "tokens" ? "tokens" : "dollars"}, for ${budget.period === "day" ? "a day" : "a month"} of ${whose}`;
}

/** What one answer of a model took. */
export function stepCost(step: { model: string; tokensIn: number; tokensOut: number; dollars: number; priced?: boolean; thoughtMs: number }): string {
  return `${step.model} · ${number(step.tokensIn)} + ${count(step.tokensOut, "token")} · ${step.priced === false ? NO_PRICE : money(step.dollars)} · thought for ${took(step.thoughtMs)}`;
}

/** What did not go smoothly before a model answered; empty if all did. */
export function stepTrouble(step: { tries: number; awayMs: number; insteadOf: string | null }): string {
  const told = [
    step.tries > 1 ? `asked ${step.tries} times` : "",
    step.awayMs > 0 ? `its model was away for ${took(step.awayMs)}` : "",
    step.insteadOf ? `it answered in place of ${step.insteadOf}` : "",
  ];
  return told.filter(Boolean).join(" · ");
}

/** What an agent runs on. */
export function modelWords(model: unknown): string {
  if (typeof model === "string") return model;
  const { connection, provider, name, baseUrl } = (model ?? {}) as { connection?: string; provider?: string; name?: string; baseUrl?: string };
  if (connection) return name ?? "a model";
  if (provider === "script") return "a script (free, offline)";
  return `${provider ?? "?"}:${name ?? "?"}${baseUrl ? ` at ${baseUrl}` : ""}`;
}

/** What is left of a while, as a clock has it: 4:12, or 2 h. */
export function left(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds >= 86_400) return `${count(Math.floor(seconds / 86_400), "day")} left`;
  if (seconds >= 3600) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min left`;
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")} left`;
}

export function size(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(0)} KB`;
  return `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}

export function membersOf(members: readonly { kind: string }[]): string {
  const people = members.filter((member) => member.kind === "person").length;
  return `${count(people, "person", "people")}, ${count(members.length - people, "agent")}`;
}

/** That an agent needs somebody, with its question if it has one. */
export function waitsFor(agent: string | undefined, call: { kind?: string; toolName?: string; args?: unknown }): string {
  const { question, title } = (call.args ?? {}) as { question?: unknown; title?: unknown };
  if (call.kind === "approval") return `${agent ?? "An agent"} asks you to approve ${call.toolName ?? "a call"}.`;
  if (call.kind === "variables") return `${agent ?? "An agent"} needs a value for ${call.toolName ?? "a call"}.`;
  const what = [question, title, call.toolName].find((each) => typeof each === "string" && each !== "") as string | undefined;
  return `${agent ?? "An agent"} waits for you${what ? `: ${what}` : "."}`;
}

export function outboxFull(most: number): string {
  return `${count(most, "message")} wait on this device already. They go out first; this one stays in its field until then.`;
}

export function wakeRule(policy: string, trigger?: string | null): string {
  switch (policy) {
    case "all":
      return "agents wake for every message";
    case "mention":
      return "agents answer when mentioned";
    case "trigger":
      return trigger ? `agents wake for “${trigger}”` : "agents wake for a trigger word";
    default:
      return "agents only read along";
  }
}

export function wakeRuleShort(policy: string): string {
  return { all: "wake for all", mention: "on mention", trigger: "on trigger word" }[policy] ?? "read along";
}

export const outcome: Record<string, string> = {
  spoke: "spoke", reacted: "reacted", acted: "acted", silent: "stayed silent", unsent_text: "wrote, but did not send",
};

export const status: Record<string, string> = {
  queued: "queued", thinking: "thinking", acting: "using a tool", waiting: "waiting", completed: "finished",
  failed: "failed", cancelled: "stopped",
};

export const stopReason: Record<string, string> = {
  done: "nothing left to do", skipped: "chose silence", max_steps: "reached its limit of steps",
  max_seconds: "ran out of time", max_cost: "reached its budget", max_tokens: "reached its limit of tokens",
  cancelled: "somebody stopped it", model_unavailable: "its model did not answer", model_refused: "its model refused",
  agent_deleted: "the agent was deleted", variables_required: "a value it needs is missing",
  no_rights: "whoever asked may not do this any more", broken: "a fault of the office",
};

export const agentState: Record<string, string> = {
  idle: "idle", queued: "about to start", running: "working", waiting: "waits for somebody", paused: "paused",
};

export const kind: Record<string, string> = {
  external: "a program", space: "an answer", approval: "an approval", variables: "a value", takeover: "a take-over",
};

export const LOST_ANSWER = "No answer from the office, so this may not have arrived. What you entered is still here: send it again when the line is back. It counts once.";
export const NOT_ANSWERED = "Nothing was answered; what you entered is still here.";
export const OUTCOME_UNKNOWN = "This was interrupted while it ran. It may or may not have happened, and it was not tried again. Check before you ask for it anew.";

/** Why a card has no field. */
export const REFUSED = "This page does not take it: whatever is typed into a card is read by everybody here. Answer it with a program, over the API.";

/** For whom a value is kept, and where it is used from then on. */
export const keptIn: Record<string, string> = {
  person: "me", thread: "this conversation", agent: "this agent", space: "this room", workspace: "the whole office",
};

export function keptFor(agent: string, tool: string, scope: string): string {
  const whose = {
    person: "It is used when agents work for you, and by nobody else",
    thread: `It is used by ${agent} in this conversation`,
    agent: `It is used by ${agent}, whoever it works for`,
    space: "It is used by all agents in this room",
    workspace: "It is used by all agents of the office",
  }[scope];
  return `${whose}, in ${tool} and other tools that name it. Secrets are stored sealed; nobody here sees what you type.`;
}

const trigger: Record<string, string> = {
  message: "a message", tool_result: "an answer", task: "a schedule", skill: "a skill",
  subagent: "a helper's report", trigger: "a program", expired: "a question that nobody answered",
};

type Trigger = { kind: string; authorId?: string | null; toolName?: string | null; serviceName?: string | null; skill?: string | null };

/** What woke a run, as the end of a sentence: "woken by …". `answeredBy` is whoever gave the answer that came later. */
export function wokenBy(by: Trigger, nameOf: (id: string) => string, answeredBy?: string | null): string {
  if (by.authorId) return nameOf(by.authorId);
  if (by.kind === "tool_result" && by.toolName) return answeredBy ? `${nameOf(answeredBy)}’s answer to ${by.toolName}` : `the answer to ${by.toolName}`;
  if (by.kind === "expired" && by.toolName) return `${by.toolName}, which nobody answered in time`;
  if (by.kind === "skill" && by.skill) return `the skill /${by.skill}`;
  if (by.kind === "trigger" && by.serviceName) return by.serviceName === "office" ? "the office: it was claimed" : `the program ${by.serviceName}`;
  return trigger[by.kind] ?? by.kind;
}

/** What kind of thing that was. */
export const triggerKind = (kind: string): string => trigger[kind] ?? kind;

/** Who ended a run before it was done. */
export function stoppedBy(agent: string, by: string | null | undefined): string {
  return by ? `${by} stopped ${agent}.` : `${agent} was stopped.`;
}

/** What becomes of a message while agents are paused. */
export function pausedHere(all: boolean, paused: readonly string[]): string {
  if (all) return "All agents are paused. They get what you write when somebody lets them go on.";
  const are = paused.length === 1 ? "is paused and gets" : "are paused and get";
  return `${names(paused)} ${are} what you write when somebody lets ${paused.length === 1 ? "it" : "them"} go on.`;
}

/** Whom a text wakes, and who only gets it later. */
export function wakesHint(awake: readonly string[], paused: readonly string[]): string {
  const later = paused.length ? `${names(paused)} ${paused.length === 1 ? "is" : "are"} paused: ${paused.length === 1 ? "gets" : "get"} it later` : "";
  if (!awake.length) return later || "Wakes no agent";
  return `Wakes ${names(awake)}${later ? ` · ${later}` : ""}`;
}

export function typingLine(people: readonly string[]): string {
  return `${names(people)} ${people.length === 1 ? "is" : "are"} typing`;
}

/** A text without its marks, for a line that is cut off anyway. */
export function plainText(markdown: string): string {
  const text = markdown.replace(/^[|:\s-]+$/gm, " ").replace(/\|/g, " ");
  return text.replace(/```[\s\S]*?```/g, " code ").replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/(\*\*|__|~~|`|^#{1,6} |^> )/gm, "").replace(/\s+/g, " ").trim();
}

export function noCommand(name: string): string {
  return `There is no command /${name}. Press Enter again to post it as a message.`;
}

export const taskStatus: Record<string, { text: string; tone?: string }> = {
  active: { text: "active", tone: "ok" }, paused: { text: "paused", tone: "warn" }, completed: { text: "over" },
};

/** A schedule in a few words; what is too odd for words stands as it was written. */
export function schedule(type: string, value: string, when: (at: string) => string): string {
  if (type === "once") return `once, ${when(value)}`;
  if (type === "interval") return `every ${every(Number(value)) ?? value}`;
  return dayTimes(value) ?? `cron ${value}`;
}

const DAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/** What most schedules are: a time on some days of the week. Others stay as they were written. */
function dayTimes(cron: string): string | null {
  const [, minute, hour, days = ""] = /^(\d{1,2}) (\d{1,2}) \* \* (\*|[0-7](?:[,-][0-7])*)$/.exec(cron) ?? [];
  if (minute === undefined || hour === undefined) return null;
  const time = `${hour.padStart(2, "0")}:${minute.padStart(2, "0")}`;
  if (days === "*") return `every day at ${time}`;
  const on = days.replace(/[0-7]/g, (day) => DAYS[Number(day)] ?? "").replace("-", " to ").replaceAll(",", ", ");
  return `${on} at ${time}`;
}

function every(ms: number): string | null {
  if (!Number.isFinite(ms) || ms <= 0) return null;
  for (const [unit, name] of [[86_400_000, "day"], [3_600_000, "hour"], [60_000, "minute"], [1_000, "second"]] as const)
    if (ms % unit === 0) return ms === unit ? name : count(ms / unit, name);
  return `${whole.format(ms)} ms`;
}

// ── models and money ──

/** What a million tokens cost. */
export function price(price: { input: number; output: number } | null | undefined): string {
  if (!price) return "No price set";
  if (!price.input && !price.output) return "free";
  return `$${price.input} in, $${price.output} out`;
}

/** What was spent; tokens of models without a price cost something that nobody knows. */
export function spent(dollars: number, unpriced = 0): string {
  if (!dollars) return unpriced ? "No price set" : "$0";
  return unpriced ? `${money(dollars)} and more` : money(dollars);
}

/** What failed when a model was tried, before the provider's own words. */
export const modelProblem: Record<string, string> = {
  address: "The address was not reached", key: "The key was refused", model: "The model is not known there", answer: "The answer was not understood",
};

export function offers(n: number): string {
  return n ? `It offers ${count(n, "model")}.` : "It does not say which models it offers.";
}

/** Who runs on something from now on. */
export function runsOn(agents: readonly string[]): string {
  return agents.length === 1 ? `${agents[0]} runs on it from the next run on.` : `${names(agents)} run on it from their next run on.`;
}

export function uses(agents: readonly string[]): string {
  return agents.length === 1 ? `${agents[0]} uses it.` : `${names(agents, 5)} use it.`;
}

export const usageBy: Record<string, string> = { day: "Day", agent: "Agent", space: "Room", model: "Model", person: "Person" };
export const budgetKind: Record<string, string> = { agent: "An agent", space: "A room", person: "A person", task: "A task", office: "The whole office" };
export const period: Record<string, string> = { day: "a day", month: "a month" };

export function budgetSays(budget: { spent: number; amount: number; extra?: number; unit: string }): string {
  const most = budget.amount + (budget.extra ?? 0);
  return budget.unit === "tokens" ? `${number(budget.spent)} of ${count(most, "token")}` : `$${budget.spent.toFixed(2)} of $${most.toFixed(2)}`;
}
