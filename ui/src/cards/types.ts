// The contract of a card: see docs/guide/cards.md.
import type { ComponentType } from "react";
import type { MessageStatus, PendingKind } from "../api/nouns";
import type { Need } from "./needs";

export type Call<A = Record<string, unknown>, R = unknown> = {
  callId: string;
  toolName: string;
  kind?: PendingKind;
  status: MessageStatus;
  args: Partial<A>;
  argsComplete: boolean;
  result?: R;
  error?: string;
  isUnknown?: boolean; // it was interrupted: whether it happened, nobody here knows
  agentId: string;
  runId?: string;
  spaceId?: string;
  expiresAt?: string;
  answeredBy?: string;
  approvedBy?: string;
  editedBy?: string; // who changed the arguments before approving them
  outside?: string[];
  reason?: string; // why it has to be approved although no policy says so: its agent had read text from outside
  hash?: string;
  needs?: Need[]; // the values it waits for: names and places, never a value
  progress?: { fraction?: number; message?: string };
  createdAt?: string;
};

export type Answered = { ok: true } | { ok: false; message: string };

export type CardProps<A = Record<string, unknown>, R = unknown> = {
  call: Call<A, R>;
  mayAnswer: boolean;
  answer(result: R): Promise<Answered>;
  compact: boolean;
};

export type Card<A = Record<string, unknown>, R = unknown> = {
  /** One line: collapsed row, waiting list, notification, screen reader. */
  summary(call: Call<A, R>): string;
  View: ComponentType<CardProps<A, R>>;
  /** Whether these arguments, once complete, are something this card can draw. Otherwise the fallback does. */
  accepts(args: unknown): boolean;
};

export type AnyCard = Card<never, never>;
