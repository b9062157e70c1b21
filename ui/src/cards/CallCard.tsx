// A call in the timeline or in the waiting list: finds its card, knows who may answer, and sends the answer.
import { Component, lazy, Suspense, useEffect, useState, type ReactNode } from "react";
import { api, Problem } from "../api/client";
import * as exact from "../api/exact";
import type { Message, PendingCall } from "../api/nouns";
import { sentence } from "../api/problems";
import type { Partial_ } from "../live/state";
import { store, useLive } from "../live/store";
import { forget } from "../parts/begun";
import { Notice, Skeleton } from "../parts/Notice";
import { isRecord } from "../parts/Args";
import { usePendingCall } from "../work/data";
import { type Kept } from "../rooms/keeps";
import { nameOf } from "../rooms/names";
import { LOST_ANSWER, NOT_ANSWERED } from "../words/en";
import { Approval } from "./Approval";
import s from "./cards.module.css";
import { needsOf, scopesFor } from "./needs";
import { fallbackCard, cardFor } from "./index";
import { isRefused, Refused } from "./Refused";
import type { Answered, Call } from "./types";

const Values = lazy(() => import("./Values").then((found) => ({ default: found.Values })));

export function callOf(message: Message, pending?: PendingCall): Call {
  const meta = message.metadata as Record<string, unknown>;
  const isApproval = meta.approval === true || pending?.kind === "approval";
  return {
    callId: String(meta.callId ?? message.id),
    toolName: String(meta.toolName ?? "tool"),
    kind: pending?.kind ?? (isApproval ? "approval" : undefined),
    status: message.status,
    args: isRecord(meta.args) ? meta.args : {},
    argsComplete: true,
    result: meta.result,
    error: typeof meta.error === "string" ? meta.error : meta.error ? exact.text(meta.error) : undefined,
    isUnknown: meta.outcome === "unknown",
    agentId: message.authorId,
    runId: message.runId ?? undefined,
    spaceId: message.spaceId,
    expiresAt: pending?.expiresAt ?? undefined,
    answeredBy: (meta.answeredBy ?? meta.approvedBy ?? pending?.answeredBy ?? undefined) as string | undefined,
    editedBy: meta.editedBy as string | undefined,
    approvedBy: meta.approvedBy as string | undefined,
    outside: (meta.outside ?? pending?.metadata.outside) as string[] | undefined,
    reason: pending?.metadata.reason as string | undefined,
    hash: pending?.hash ?? undefined,
    needs: pending?.kind === "variables" ? needsOf(pending.args) : undefined,
    createdAt: message.createdAt,
  };
}

export function callOfPending(pending: PendingCall): Call {
  const open = pending.status === "waiting" || pending.status === "pending";
  const status = open ? "requires_action" : pending.status === "resolved" ? "complete" : pending.status;
  return {
    callId: pending.callId, toolName: pending.toolName, kind: pending.kind, status: status as Call["status"],
    args: shownArgs(pending), argsComplete: true, result: pending.result ?? undefined,
    needs: pending.kind === "variables" ? needsOf(pending.args) : undefined,
    agentId: pending.agentId, runId: pending.runId, spaceId: pending.spaceId ?? undefined, expiresAt: pending.expiresAt ?? undefined,
    answeredBy: pending.answeredBy ?? undefined, outside: pending.metadata.outside as string[] | undefined,
    reason: pending.metadata.reason as string | undefined, hash: pending.hash ?? undefined, createdAt: pending.createdAt,
    progress: (pending.progress as { fraction?: number; message?: string } | undefined) ?? undefined,
  };
}

/** Of a call that waits for values, what it will be called with stands beside what it waits for. */
function shownArgs(pending: PendingCall): Record<string, unknown> {
  const args = pending.kind === "variables" ? pending.metadata.args : pending.args;
  return isRecord(args) ? args : {};
}

function callOfPartial(partial: Partial_): Call {
  return {
    callId: partial.key, toolName: partial.toolName ?? "tool", status: "streaming", agentId: partial.agentId, runId: partial.runId,
    args: isRecord(partial.args) ? partial.args : {}, argsComplete: false,
  };
}

export function mayAnswer(call: Call, grants: readonly string[], meId: string, members: readonly string[], space?: Kept): boolean {
  if (call.status !== "requires_action") return false;
  if (call.kind === "approval") return grants.includes("answer_pending");
  if (call.kind === "variables") return scopesFor(call.needs, meId, grants, space).length > 0;
  // Until the office has said what is asked for, nobody types anything into it.
  return call.kind === "space" && members.includes(meId);
}

export function CallCard(props: { message: Message } | { partial: Partial_ }) {
  if ("partial" in props) return <CardView call={callOfPartial(props.partial)} />;
  return <MessageCard message={props.message} />;
}

function MessageCard({ message }: { message: Message }) {
  const callId = message.metadata.callId as string | undefined;
  const waits = message.status === "requires_action";
  const pending = usePendingCall(waits ? callId : undefined);
  const progress = useLive((state) => (callId ? state.progress[callId] : undefined));
  return <CardView call={{ ...callOf(message, waits ? pending : undefined), progress }} />;
}

export function CardView({ call, compact = false }: { call: Call; compact?: boolean }) {
  const me = useLive((state) => state.me);
  const space = useLive((state) => (call.spaceId ? state.spaces[call.spaceId] : undefined));
  const [sent, setSent] = useState<Call | null>(null);
  const [late, setLate] = useState("");
  const [failed, setFailed] = useState("");
  const over = call.status !== "requires_action";
  const allowed = mayAnswer(call, me?.grants ?? [], me?.id ?? "", space?.members ?? [], space) && !sent && !late;

  const answer = async (result: unknown): Promise<Answered> => {
    // Shown as answered at once; whoever was first is found out by the answer.
    // What was given to a call that waits for values is in no state of the page.
    setSent({ ...call, status: "complete", result: call.kind === "variables" ? undefined : result, answeredBy: me?.id });
    setFailed("");
    try {
      await api.resolve(call.callId, result);
      forget(call.callId);
      return { ok: true };
    } catch (error) {
      setSent(null);
      const told = await tooLate(error, call.callId);
      const why = told ?? failure(error);
      if (told) setLate(told);
      else setFailed(why);
      return { ok: false, message: why };
    }
  };
  useEffect(() => {
    if (over) forget(call.callId);
  }, [over, call.callId]);
  if (isRefused(call)) return <Refused call={call} />;
  const shown = sent && !over ? sent : call;
  const card = cardFor(shown);
  const asks = shown.status === "requires_action" || !!sent;
  const View = asks && shown.kind === "approval" ? Approval : asks && shown.kind === "variables" ? Values : card.View;
  return (
    <>
      <Boundary call={shown}>
        <Suspense fallback={<Skeleton rows={2} />}>
          <View call={shown as never} mayAnswer={allowed} answer={answer as never} compact={compact} />
        </Suspense>
      </Boundary>
      {!over && !sent && (late || failed) && (
        <div className={s.told}>
          <Notice tone={late ? "warn" : "bad"}>{late || failed}</Notice>
        </div>
      )}
    </>
  );
}

/** What was chosen or typed is still there: the cards keep it (parts/begun.ts) until it has arrived. */
function failure(error: unknown): string {
  if (!(error instanceof Problem) || error.status === 0) return LOST_ANSWER;
  return `${sentence(error)} ${NOT_ANSWERED}`;
}

/** Who answered first, if that is why an answer was refused. */
async function tooLate(error: unknown, callId: string): Promise<string | null> {
  if (!(error instanceof Problem) || (error.status !== 409 && error.status !== 410)) return null;
  const there = await api.pendingCall(callId).catch(() => null);
  if (!there?.answeredBy) return error.message;
  const { me, members } = store.getState();
  const words = answerWords(there.result);
  return there.answeredBy === me?.id ? `You have answered already: ${words}.` : `${nameOf(members, there.answeredBy)} answered first: ${words}.`;
}

export function answerWords(result: unknown): string {
  if (isRecord(result)) {
    if (typeof result.approved === "boolean") return result.approved ? "Approve" : "Deny";
    if (typeof result.confirmed === "boolean") return result.confirmed ? "Yes" : "No";
    if ("choice" in result) return String(result.choice);
    if (Array.isArray(result.choices)) return result.choices.join(", ");
    if (Array.isArray(result.supplied)) return `a value for ${result.supplied.join(", ")}`;
    const values = isRecord(result.values) ? result.values : result;
    return Object.entries(values).map(([name, value]) => `${name}: ${typeof value === "string" ? value : exact.text(value)}`).join(" · ").slice(0, 300);
  }
  return result === undefined || result === null ? "" : exact.text(result);
}

class Boundary extends Component<{ call: Call; children: ReactNode }, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError(): { failed: boolean } {
    return { failed: true };
  }

  override render(): ReactNode {
    if (!this.state.failed) return this.props.children;
    const View = fallbackCard.View;
    return (
      <>
        <View call={this.props.call} mayAnswer={false} answer={() => Promise.resolve({ ok: true })} compact={false} />
        <Notice tone="warn">This card failed to draw. What it holds is in Details.</Notice>
      </>
    );
  }
}
