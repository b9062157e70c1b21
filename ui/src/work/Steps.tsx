// One run as a line of what happened, in order: what woke it, what it was told, what it thought, called and got.
import { useQuery } from "@tanstack/react-query";
import { Brain, CircleCheck, CircleX, LoaderCircle, MessageSquare, ScrollText, Wrench } from "lucide-react";
import { Link } from "wouter";
import { Problem } from "../api/client";
import type { PendingCall, Run, RunMessage } from "../api/nouns";
import { answerWords } from "../cards/CallCard";
import Result from "../cards/Result";
import { useLive } from "../live/store";
import { Args, isRecord } from "../parts/Args";
import { Clock } from "../parts/Ago";
import { Failed, Notice, Skeleton } from "../parts/Notice";
import p from "../parts/parts.module.css";
import { nameOf } from "../rooms/names";
import { kind as kinds, number, OUTCOME_UNKNOWN, outcome, stepCost, stepTrouble, stopReason, triggerKind, took, wokenBy } from "../words/en";
import { journalOf, traceOf, usePendingCall, waitedOf } from "./data";
import { Said } from "./Said";
import { Shown } from "./Shown";
import { stepsOf, tookOf, type Step } from "./stepList";
import s from "./work.module.css";

type Known = { back: Map<string | null | undefined, RunMessage>; ms: Map<string, number>; waited: Map<string, PendingCall>; brief?: boolean; runId?: string };

export function Steps({ run, brief }: { run: Run; brief?: boolean }) {
  const every = run.finishedAt ? false : 2_000;
  const journal = useQuery({ queryKey: ["run", run.id, "journal"], queryFn: () => journalOf(run.id), refetchInterval: every });
  const trace = useQuery({ queryKey: ["run", run.id, "trace"], queryFn: () => traceOf(run.id), enabled: journal.isSuccess, refetchInterval: every });
  const waited = useQuery({ queryKey: ["pending", "run", run.id], queryFn: () => waitedOf(run.id), enabled: !brief && journal.isSuccess });
  const members = useLive((state) => state.members);
  const answered = usePendingCall(run.trigger.callId ?? undefined)?.answeredBy;
  if (journal.isPending) return <Skeleton rows={4} />;
  if (journal.error) {
    if (journal.error instanceof Problem && journal.error.status === 403)
      return <Notice>What an agent read and thought is for the owner. You see that it ran, what came of it and what it said.</Notice>;
    return <Failed error={journal.error} onRetry={() => void journal.refetch()} />;
  }
  const { entries, more } = journal.data;
  const by = wokenBy(run.trigger, (id) => nameOf(members, id), answered);
  const known: Known = {
    back: new Map(entries.filter((each) => each.type === "tool_return_message").map((each) => [each.callId, each])),
    ms: tookOf(trace.data ?? []),
    waited: new Map((waited.data ?? []).map((call) => [call.callId, call])),
    brief,
    runId: run.id,
  };
  return (
    <ol className={s.steps} aria-label="What happened">
      <li>
        <MessageSquare size={16} aria-hidden />
        Woken by {by}
        <small>
          <Clock at={run.startedAt} withSeconds /> {run.trigger.authorId && ` · by ${triggerKind(run.trigger.kind)}`}
          {run.trigger.items && run.trigger.items > 1 ? ` and ${run.trigger.items - 1} more` : ""}
          {run.trigger.messageId && run.trigger.spaceId && (
            <>
              {" · "}
              <Link href={`/rooms/${run.trigger.spaceId}?message=${run.trigger.messageId}`}>show it</Link>
            </>
          )}
        </small>
      </li>
      {stepsOf(entries, trace.data ?? []).map((each) => (each.kind === "told" ? <Prompt key={each.entry.id} entry={each.entry} /> : <OneStep key={each.entries[0]?.id} step={each} known={known} />))}
      {more && <li>There is more than is shown here: {number(entries.length)} entries.</li>}
      <End run={run} />
    </ol>
  );
}

function End({ run }: { run: Run }) {
  const members = useLive((state) => state.members);
  if (!run.finishedAt)
    return (
      <li>
        <LoaderCircle size={16} className={p.spin} aria-hidden />
        {run.status === "waiting" ? "Waiting" : "Thinking…"}
      </li>
    );
  if (run.status !== "completed")
    return (
      <li>
        <CircleX size={16} color="var(--bad)" aria-hidden />
        {run.stoppedBy ? `${nameOf(members, run.stoppedBy)} stopped it` : run.status === "failed" ? "Failed" : "Stopped"}
        <small>{run.stoppedBy ? <Clock at={run.finishedAt} withSeconds /> : (run.error ?? stopReason[run.stopReason ?? ""])}</small>
      </li>
    );
  return (
    <li>
      <CircleCheck size={16} color="var(--ok)" aria-hidden />
      Finished: {outcome[run.outcome ?? ""] ?? "done"}
      <small>
        <Clock at={run.finishedAt} withSeconds /> · {stopReason[run.stopReason ?? ""] ?? run.stopReason}
        {run.silenceReason && run.silenceReason !== "agent_chose_silence" ? ` · its reason: “${run.silenceReason}”` : ""}
      </small>
    </li>
  );
}

function OneStep({ step, known }: { step: Step; known: Known }) {
  const told = step.entries.filter((entry) => entry.type === "tool_call_message" || entry.content);
  const trouble = step.cost && stepTrouble(step.cost);
  return (
    <li>
      <Brain size={16} aria-hidden />
      Step {step.step}
      <small>
        <Clock at={step.at} withSeconds />
        {step.cost && ` · ${stepCost(step.cost)}`}
      </small>
      {trouble && <small className={s.trouble}>{trouble}</small>}
      {!known.brief && known.runId && <Shown runId={known.runId} step={step.step} />}
      {!told.length && <small>said and did nothing more</small>}
      <ol className={s.within}>
        {told.map((entry) =>
          entry.type === "tool_call_message" ? <CallStep key={entry.id} entry={entry} known={known} /> : <Thought key={entry.id} entry={entry} />,
        )}
      </ol>
    </li>
  );
}

/** What woke it, in words; the whole of what it was shown stands under each step. */
function Prompt({ entry }: { entry: RunMessage }) {
  return (
    <li>
      <ScrollText size={16} aria-hidden />
      Read what is new
      <small>
        <Clock at={entry.at} withSeconds />
      </small>
      <Said text={entry.content ?? ""} />
    </li>
  );
}

function Thought({ entry }: { entry: RunMessage }) {
  return (
    <li>
      Thought
      <small>nobody else reads this</small>
      <div className={s.said} dir="auto">
        {entry.content}
      </div>
    </li>
  );
}

function CallStep({ entry, known }: { entry: RunMessage; known: Known }) {
  const back = known.back.get(entry.callId);
  const failed = back?.isError;
  const told = isRecord(back?.result) ? back.result : {};
  const unknown = told.outcome === "unknown";
  const state = unknown ? "outcome unknown" : failed ? "failed" : back ? "done" : "under way";
  const ms = known.ms.get(entry.callId ?? "") ?? (back ? Date.parse(back.at) - Date.parse(entry.at) : null);
  const waited = known.waited.get(entry.callId ?? "");
  return (
    <li>
      <Wrench size={16} aria-hidden color={unknown ? "var(--warn)" : failed ? "var(--bad)" : undefined} />
      <code>{entry.toolName}</code>
      <small>
        <Clock at={entry.at} withSeconds /> · {ms === null ? state : `${state}, ${took(ms)}`}
      </small>
      {waited && <Waited call={waited} />}
      {unknown ? <p className={s.trouble}>{OUTCOME_UNKNOWN}</p> : typeof told.error === "string" && <p className={p.problem}>{told.error}</p>}
      {typeof told.messageId === "string" && typeof told.spaceId === "string" && (
        <small>
          <Link href={`/rooms/${told.spaceId}?message=${told.messageId}`}>Show what was said</Link>
        </small>
      )}
      <details open={!known.brief && entry.toolName !== "send_message"}>
        <summary>What it was given, and what came of it</summary>
        <div className={s.open}>
          <Args args={entry.args} />
          {back && <Result value={back.result} />}
          {back?.outside?.length ? <Notice tone="warn">From outside: {back.outside.join(", ")}</Notice> : null}
        </div>
      </details>
    </li>
  );
}

/** Somebody had to say something first: who did, or that nobody has. */
function Waited({ call }: { call: PendingCall }) {
  const members = useLive((state) => state.members);
  const open = call.status === "waiting" || call.status === "pending";
  return (
    <small>
      <Clock at={call.createdAt} withSeconds /> · {open ? "waits" : "waited"} for {kinds[call.kind]} ·{" "}
      {open ? (
        <Link href={`/pending?call=${call.callId}`}>show it</Link>
      ) : call.status === "resolved" ? (
        `${nameOf(members, call.answeredBy)}: ${answerWords(call.result)}`
      ) : call.status === "expired" ? (
        "nobody answered in time"
      ) : (
        `${nameOf(members, call.answeredBy)} withdrew it`
      )}
    </small>
  );
}
