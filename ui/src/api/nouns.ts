// The nouns of the API as the page uses them. types.ts is generated; here fields that are always sent lose their "?".
import type { components } from "./types";

type Schemas = components["schemas"];
type Sent<T, K extends keyof T> = Omit<T, K> & { [P in K]-?: NonNullable<T[P]> };

export type Me = Schemas["Me"];
export type File_ = Schemas["File"];
export type Reaction = Schemas["Reaction"];
export type Message = Sent<Schemas["Message"], "attachments" | "reactions" | "metadata">;
export type FoundMessage = Sent<Schemas["FoundMessage"], "attachments" | "reactions" | "metadata" | "highlights">;
export type PinnedMessage = Sent<Schemas["PinnedMessage"], "attachments" | "reactions" | "metadata">;
export type StepRequest = Sent<Schemas["StepRequest"], "leftOut">;
export type PromptBlock = Schemas["PromptBlock"];
export type PromptPart = Schemas["PromptPart"];
export type MessageStatus = Message["status"];
export type Member = Schemas["Member"];
export type Space = Sent<Schemas["Space"], "members" | "memberDetails">;
export type Agent = Omit<Sent<Schemas["Agent"], "tools" | "waitingFor">, "limits" | "policy"> & {
  limits?: Schemas["Limits"];
  policy?: Record<string, Decision>;
};
export type Decision = "allow" | "ask" | "deny";
export type Person = Schemas["Person"];
/** `stoppedBy` and `retryOf` are said by offices that know them. */
export type Run = Sent<Schemas["Run"], "messageIds" | "usage" | "outside"> & { stoppedBy?: string | null; retryOf?: string | null };
export type RunMessage = Schemas["RunMessage"];
export type PendingCall = Sent<Schemas["PendingCall"], "metadata">;
export type PendingKind = PendingCall["kind"];
export type Why = Sent<Schemas["Why"], "agents">;
export type WhyAgent = Schemas["WhyAgent"];
export type ToolConfig = Schemas["ToolConfig"];
export type Policy = Schemas["Policy"];
export type UsageRow = Schemas["UsageRow"];
export type NewInvite = Schemas["NewInvite"];
export type Invite = Schemas["Invite"];
export type InviteShown = Schemas["InviteShown"];
export type Block = Sent<Schemas["Block"], "outside" | "mayWrite" | "description">;
export type BlockVersion = Sent<Schemas["BlockVersion"], "outside" | "deleted">;
export type Passage = Sent<Schemas["Passage"], "outside">;
export type Goal = Sent<Schemas["Goal"], "outside">;
export type Memory = Sent<Schemas["Memory"], "outside">;
export type Plan = Sent<Schemas["Plan"], "outside">;
export type InstructionsVersion = Schemas["InstructionsVersion"];
export type OpenSession = Schemas["OpenSession"];
export type SpaceContents = Schemas["SpaceContents"];
export type Token = Schemas["Token"];
export type Span = Schemas["Span"];
export type Budget = Schemas["Budget"];
export type Task = Sent<Schemas["Task"], "nextRuns">;
export type Firing = Schemas["Firing"];
export type Skill = Schemas["Skill"];
export type Command = Schemas["Command"];
export type ModelCheck = Schemas["ModelCheck"];
export type Connection = Sent<Schemas["ModelConnection"], "models" | "agents">;
export type OfferedModel = Schemas["OfferedModel"];
export type ModelPrice = Schemas["ModelPrice"];
export type Offered = Page<OfferedModel> & { problem?: ModelCheck["problem"]; message?: string | null };
export type Limits = Schemas["Limits"];
export type Page<T> = { items: T[]; next?: string };

type AnyEvent = Schemas["AnyEvent"];
type Noun<T> = T extends Schemas["Message"] ? Message
  : T extends Schemas["Space"] ? Space
  : T extends Schemas["Agent"] ? Agent
  : T extends Schemas["Run"] ? Run
  : T extends Schemas["PendingCall"] ? PendingCall
  : T extends Schemas["Task"] ? Task
  : T;
type Head = { spaceId?: string; agentId?: string; runId?: string; cursor?: string };
type FromWire<E> = E extends AnyEvent ? Head & { [K in Exclude<keyof E, keyof Head>]: Noun<E[K]> } : never;

/** One frame of the event stream. `type` says which: see docs/reference/events.md. */
export type OfficeEvent = FromWire<AnyEvent>;
export type EventType = OfficeEvent["type"];
export type EventOf<T extends EventType> = Extract<OfficeEvent, { type: T }>;
