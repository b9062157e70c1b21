// Asking the server this page came from, and nobody else.
import * as exact from "./exact";
import type {
  Agent, Block, BlockVersion, Budget, Command, Connection, Decision, File_, Firing, FoundMessage, InstructionsVersion, Invite, InviteShown, Me, Message, ModelCheck,
  NewInvite, Offered, OpenSession, Page, PendingCall, Person, PinnedMessage, Policy, Run, RunMessage, Skill, Space, SpaceContents, Span, StepRequest,
  Task, Token, ToolConfig, UsageRow, Why,
} from "./nouns";

/** An answer that was not what was asked for; status 0: there was no answer at all. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly fields: Record<string, string> = {},
    readonly retryAfter?: number,
  ) {
    super(message);
  }

  /** Would the same request perhaps succeed later? */
  get passes(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

type Query = Record<string, string | number | boolean | undefined | null>;

/** Told when something is refused because nobody is signed in. */
export const refused = { tell: (): void => {} };

/** Told of the build of the server that answered. */
export const served = { tell: (_build: string): void => {} };

export function address(path: string, query: Query = {}): string {
  const said = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const search = new URLSearchParams(said.map(([name, value]) => [name, String(value)])).toString();
  return `/api${path}${search ? `?${search}` : ""}`;
}

export async function ask<T>(method: string, path: string, options: { query?: Query; body?: unknown } = {}): Promise<T> {
  let answer: Response;
  try {
    answer = await fetch(address(path, options.query), {
      method,
      credentials: "same-origin",
      headers: options.body === undefined ? {} : { "Content-Type": "application/json" },
      body: options.body === undefined ? undefined : exact.text(options.body),
      signal: AbortSignal.timeout(30_000),
    });
  } catch {
    throw new Problem(0, "no_answer", "The office did not answer.");
  }
  const build = answer.headers.get("bullpen-build");
  if (build) served.tell(build);
  if (answer.status === 401 && path !== "/me") refused.tell();
  return read<T>(answer);
}

const MOST_PAGES = 50;

/** All pages of a list as one. Only a list that is longer than anybody reads still has a `next`. */
async function whole<T>(path: string, query: Query = {}): Promise<Page<T>> {
  const found: T[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MOST_PAGES; page++) {
    const part = await ask<Page<T>>("GET", path, { query: { limit: 200, ...query, cursor } });
    found.push(...part.items);
    cursor = part.next;
    if (!cursor) break;
  }
  return { items: found, ...(cursor ? { next: cursor } : {}) };
}

async function read<T>(answer: Response): Promise<T> {
  if (answer.status === 204) return undefined as T;
  const said = await answer.text().then(exact.parse).catch(() => undefined);
  if (!answer.ok) throw problem(answer.status, said, answer.headers.get("retry-after"));
  // The office died, or the line was cut, before all of the answer was here.
  if (said === undefined) throw new Problem(0, "no_answer", "The office did not finish its answer.");
  return said as T;
}

export function problem(status: number, said: unknown, retryAfter: string | null = null): Problem {
  const error = (said as { error?: { code?: string; message?: string; fields?: Record<string, string> } } | null)?.error;
  const wait = retryAfter === null ? undefined : Number(retryAfter);
  return new Problem(
    status,
    error?.code ?? "error",
    error?.message ?? `The office answered with status ${status}.`,
    error?.fields,
    wait,
  );
}

const id = encodeURIComponent;

export const api = {
  me: () => ask<Me>("GET", "/me"),
  setup: (body: { code: string; name: string; password: string }) => ask<Me>("POST", "/setup", { body }),
  signIn: (body: { name: string; password: string }) => ask<Me>("POST", "/session", { body }),
  signOut: () => ask<void>("DELETE", "/session"),
  acceptInvite: (body: { code: string; name: string; password: string }) => ask<Me>("POST", "/invites/accept", { body }),
  changePassword: (body: { current: string; password: string }) => ask<void>("POST", "/me/password", { body }),
  lookAtInvite: (code: string) => ask<InviteShown>("POST", "/invites/look", { body: { code } }),
  invite: (body: { role: string; spaceIds: string[] }) => ask<NewInvite>("POST", "/invites", { body }),
  invites: () => ask<Page<Invite>>("GET", "/invites"),
  revokeInvite: (invite: string) => ask<void>("DELETE", `/invites/${id(invite)}`),

  spaces: (cursor?: string) => ask<Page<Space>>("GET", "/spaces", { query: { limit: 200, cursor } }),
  space: (space: string) => ask<Space>("GET", `/spaces/${id(space)}`),
  createSpace: (body: object) => ask<Space>("POST", "/spaces", { body }),
  updateSpace: (space: string, body: object) => ask<Space>("PATCH", `/spaces/${id(space)}`, { body }),
  spaceContents: (space: string) => ask<SpaceContents>("GET", `/spaces/${id(space)}/contents`),
  deleteSpace: (space: string) => ask<unknown>("DELETE", `/spaces/${id(space)}`),
  addMember: (space: string, memberId: string) => ask<unknown>("POST", `/spaces/${id(space)}/members`, { body: { memberId } }),
  removeMember: (space: string, member: string) => ask<void>("DELETE", `/spaces/${id(space)}/members/${id(member)}`),
  typing: (space: string) => ask<void>("POST", `/spaces/${id(space)}/typing`),
  pins: (space: string) => ask<Page<PinnedMessage>>("GET", `/spaces/${id(space)}/pins`),
  pin: (message: string) => ask<PinnedMessage>("PUT", `/messages/${id(message)}/pin`),
  unpin: (message: string) => ask<void>("DELETE", `/messages/${id(message)}/pin`),
  markRead: (space: string, seq: number) => ask<Space>("POST", `/spaces/${id(space)}/read`, { body: { seq } }),
  preview: (space: string, body: { text: string; replyTo?: string }) =>
    ask<{ wakes: string[] }>("POST", `/spaces/${id(space)}/preview`, { body }),

  messages: (space: string, query: { before?: number; after?: number; limit?: number } = {}) =>
    ask<Page<Message>>("GET", `/spaces/${id(space)}/messages`, { query }),
  message: (message: string) => ask<Message>("GET", `/messages/${id(message)}`),
  post: (space: string, body: object) => ask<Message>("POST", `/spaces/${id(space)}/messages`, { body }),
  edit: (message: string, text: string, editedAt: string | null) =>
    ask<Message>("PATCH", `/messages/${id(message)}`, { body: { text, editedAt } }),
  remove: (message: string) => ask<Message>("DELETE", `/messages/${id(message)}`),
  react: (message: string, emoji: string) => ask<Message>("POST", `/messages/${id(message)}/reactions`, { body: { emoji } }),
  unreact: (message: string, emoji: string) => ask<Message>("DELETE", `/messages/${id(message)}/reactions/${id(emoji)}`),
  why: (message: string, agentId?: string) => ask<Why>("GET", `/messages/${id(message)}/why`, { query: { agentId } }),
  search: (query: Query) => ask<Page<FoundMessage>>("GET", "/search", { query }),

  agents: () => ask<Page<Agent> & { pausedAt?: string }>("GET", "/agents", { query: { limit: 200 } }),
  agent: (agent: string) => ask<Agent>("GET", `/agents/${id(agent)}`),
  updateAgent: (agent: string, body: object) => ask<Agent>("PATCH", `/agents/${id(agent)}`, { body }),
  createAgent: (body: object) => ask<Agent>("POST", "/agents", { body }),
  pauseAgent: (agent: string) => ask<Agent>("POST", `/agents/${id(agent)}/pause`),
  resumeAgent: (agent: string) => ask<Agent>("POST", `/agents/${id(agent)}/resume`),
  pauseAll: () => ask<unknown>("POST", "/agents/pause"),
  resumeAll: () => ask<unknown>("POST", "/agents/resume"),
  // `spaceId`: the blocks that are kept for that space alone.
  blocks: (agent: string, spaceId?: string) => ask<Page<Block>>("GET", `/agents/${id(agent)}/blocks`, { query: { spaceId } }),
  putBlock: (agent: string, label: string, body: object, spaceId?: string) =>
    ask<Block>("PUT", `/agents/${id(agent)}/blocks/${id(label)}`, { body, query: { spaceId } }),
  deleteBlock: (agent: string, label: string, spaceId?: string) =>
    ask<void>("DELETE", `/agents/${id(agent)}/blocks/${id(label)}`, { query: { spaceId } }),
  blockHistory: (agent: string, label: string, query: { spaceId?: string; cursor?: string; limit?: number; from?: number; to?: number } = {}) =>
    ask<Page<BlockVersion> & { diff?: string }>("GET", `/agents/${id(agent)}/blocks/${id(label)}/history`, { query }),
  revertBlock: (agent: string, label: string, version: number, spaceId?: string) =>
    ask<Block>("POST", `/agents/${id(agent)}/blocks/${id(label)}/revert`, { body: { version }, query: { spaceId } }),
  instructions: (agent: string) => ask<Page<InstructionsVersion>>("GET", `/agents/${id(agent)}/instructions/history`),
  compareInstructions: (agent: string, from: number, to: number) =>
    ask<{ diff?: string }>("GET", `/agents/${id(agent)}/instructions/history`, { query: { from, to, limit: 1 } }),
  people: () => whole<Person>("/people"),
  person: (person: string) => ask<Person>("GET", `/people/${id(person)}`),
  updatePerson: (person: string, body: object) => ask<Person>("PATCH", `/people/${id(person)}`, { body }),
  sessions: (personId: string) => ask<Page<OpenSession>>("GET", "/sessions", { query: { personId } }),
  endSession: (session: string) => ask<void>("DELETE", `/sessions/${id(session)}`),
  tokens: () => whole<Token>("/tokens"),
  createToken: (body: { name: string }) => ask<{ id: string; token: string }>("POST", "/tokens", { body }),
  revokeToken: (token: string) => ask<void>("DELETE", `/tokens/${id(token)}`),

  runs: (query: Query) => ask<Page<Run>>("GET", "/runs", { query }),
  run: (run: string) => ask<Run>("GET", `/runs/${id(run)}`),
  runMessages: (run: string) => whole<RunMessage>(`/runs/${id(run)}/messages`),
  trace: (run: string) => ask<{ spans: Span[] }>("GET", `/runs/${id(run)}/trace`),
  stepRequest: (run: string, step: number) => ask<StepRequest>("GET", `/runs/${id(run)}/steps/${step}/request`),
  retryRun: (run: string) => ask<Run>("POST", `/runs/${id(run)}/retry`),
  cancelRun: (run: string) => ask<Run>("POST", `/runs/${id(run)}/cancel`),

  pending: (query: Query = {}) => ask<Page<PendingCall>>("GET", "/pending", { query: { limit: 200, ...query } }),
  pendingCall: (call: string) => ask<PendingCall>("GET", `/pending/${id(call)}`),
  resolve: (call: string, result: unknown) => ask<{ accepted: boolean; duplicate: boolean }>("POST", `/pending/${id(call)}/resolve`, { body: { result } }),
  cancelCall: (call: string) => ask<PendingCall>("POST", `/pending/${id(call)}/cancel`),

  tasks: (query: Query) => ask<Page<Task>>("GET", "/tasks", { query }),
  task: (task: string) => ask<Task>("GET", `/tasks/${id(task)}`),
  createTask: (body: object) => ask<Task>("POST", "/tasks", { body }),
  pauseTask: (task: string) => ask<Task>("POST", `/tasks/${id(task)}/pause`),
  resumeTask: (task: string) => ask<Task>("POST", `/tasks/${id(task)}/resume`),
  runTask: (task: string) => ask<unknown>("POST", `/tasks/${id(task)}/run`),
  cancelTask: (task: string) => ask<void>("DELETE", `/tasks/${id(task)}`),
  firings: (task: string, query: Query) => ask<Page<Firing>>("GET", `/tasks/${id(task)}/firings`, { query }),

  skills: (query: Query = {}) => ask<Page<Skill>>("GET", "/skills", { query: { limit: 200, ...query } }),
  approveSkill: (skill: Skill, hash: string) => ask<Skill>("POST", `/spaces/${id(skill.spaceId)}/skills/${id(skill.name)}/approve`, { body: { hash } }),
  undoSkill: (skill: Skill, hash: string) => ask<Skill | void>("POST", `/spaces/${id(skill.spaceId)}/skills/${id(skill.name)}/undo`, { body: { hash } }),
  rejectSkill: (skill: Skill) => ask<void>("POST", `/spaces/${id(skill.spaceId)}/skills/${id(skill.name)}/reject`),
  commands: (space: string) => ask<{ items: Command[] }>("GET", `/spaces/${id(space)}/commands`),

  tools: () => whole<ToolConfig>("/tools"),
  tool: (name: string) => ask<ToolConfig>("GET", `/tools/${id(name)}`),
  policies: (agentId: string) => ask<Page<Policy>>("GET", "/policies", { query: { agentId, limit: 200 } }),
  putPolicy: (body: { agentId: string; spaceId?: string; toolName: string; decision: Decision }) =>
    ask<Policy>("PUT", "/policies", { body }),
  deletePolicy: (policy: string) => ask<void>("DELETE", `/policies/${id(policy)}`),
  usage: (by: string, days: number) => ask<Page<UsageRow>>("GET", "/usage", { query: { by, days } }),
  putVariable: (name: string, body: object) => ask<unknown>("PUT", `/variables/${id(name)}`, { body }),
  connections: () => ask<Page<Connection>>("GET", "/models"),
  connect: (body: object) => ask<Connection>("POST", "/models", { body }),
  updateConnection: (connection: string, body: object) => ask<Connection>("PATCH", `/models/${id(connection)}`, { body }),
  deleteConnection: (connection: string) => ask<void>("DELETE", `/models/${id(connection)}`),
  offered: (connection: string, fresh = false) => ask<Offered>("GET", `/models/${id(connection)}/list`, { query: { fresh: fresh || undefined } }),
  budgets: () => ask<Page<Budget>>("GET", "/budgets"),
  putBudget: (body: object) => ask<Budget>("PUT", "/budgets", { body }),
  deleteBudget: (budget: string) => ask<void>("DELETE", `/budgets/${id(budget)}`),
  checkModel: (body: { model: unknown; apiKey?: string }) => ask<ModelCheck>("POST", "/models/check", { body }),
};

const UPLOAD_ATTEMPTS = 3;

/** Send a file, with how far it has come. fetch cannot tell, so this is the one place with XMLHttpRequest. */
export function upload(file: File, spaceId: string | undefined, onProgress: (share: number) => void): { done: Promise<File_>; stop(): void } {
  const clientFileId = crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`; // tried again under the same key, it is kept once
  let request = new XMLHttpRequest();
  let attempts = 0;
  const done = new Promise<File_>((resolve, reject) => {
    const begin = (): void => {
      attempts += 1;
      request = new XMLHttpRequest();
      request.upload.onprogress = (event) => event.lengthComputable && onProgress(event.loaded / event.total);
      request.onerror = () => {
        if (attempts < UPLOAD_ATTEMPTS) begin();
        else reject(new Problem(0, "no_answer", "The connection broke. Add the file again."));
      };
      request.onabort = () => reject(new Problem(0, "stopped", "Stopped. Nothing was uploaded."));
      request.onload = () => {
        const said: unknown = request.response;
        if (request.status < 300) resolve(said as File_);
        else reject(problem(request.status, said));
      };
      request.open("POST", address("/files", { spaceId, clientFileId }));
      request.responseType = "json";
      const form = new FormData();
      form.append("file", file);
      request.send(form);
    };
    begin();
  });
  return { done, stop: () => request.abort() };
}
