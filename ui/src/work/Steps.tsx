// One run as a line of what happened, in order: what woke it, what it was told, what it thought, called and got.
import { useQuery } from "@tanstack/react-query";
import { Brain, CircleCheck, CircleX, LoaderCircle, MessageSquare, ScrollText, Wrench } from "lucide-react";
import { Fragment } from "react";
import { Link } from "wouter";
import { api, Problem } from "../api/client";
import type { Run, RunMessage } from "../api/nouns";
import Result from "../cards/Result";
import { useLive } from "../live/store";
import { Args, isRecord } from "../parts/Args";
import { Clock } from "../parts/Ago";
import { Failed, Notice, Skeleton } from "../parts/Notice";
import p from "../parts/parts.module.css";
import { nameOf } from "../rooms/names";
import { number, outcome, stopReason, trigger, took } from "../words/en";
import { sections } from "./sections";
import s from "./work.module.css";

export function Steps({ run, brief }: { run: Run; brief?: boolean }) {
  const journal = useQuery({ queryKey: ["run", run.id, "journal"], queryFn: () => api.runMessages(run.id), refetchInterval: run.finishedAt ? false : 2_000 });
  const trace = useQuery({ queryKey: ["run", run.id, "trace"], queryFn: () => api.trace(run.id), enabled: !brief && journal.isSuccess });
  const state = useLive((all) => all);
  if (journal.isPending) return <Skeleton rows={4} />;
  if (journal.error) {
    if (journal.error instanceof Problem && journal.error.status === 403)
      return <Notice>What an agent read and thought is for the owner. You see that it ran, what came of it and what it said.</Notice>;
    return <Failed error={journal.error} onRetry={() => void journal.refetch()} />;
  }
  const entries = journal.data.items;
  const by = run.trigger.authorId ? nameOf(state.members, run.trigger.authorId) : trigger[run.trigger.kind];
  const results = new Map(entries.filter((each) => each.type === "tool_return_message").map((each) => [each.callId, each]));
  const spans = new Map((trace.data?.spans ?? []).map((span) => [span.attributes?.callId as string | undefined, span]));
  return (
    <ol className={s.steps} aria-label="What happened">
      <li>
        <MessageSquare size={16} aria-hidden />
        Woken by {by}
        <small>
          <Clock at={run.startedAt} withSeconds /> · {trigger[run.trigger.kind]}
          {run.trigger.items && run.trigger.items > 1 ? ` and ${run.trigger.items - 1} more` : ""}
          {run.trigger.messageId && run.trigger.spaceId && (
            <>
              {" · "}
              <Link href={`/rooms/${run.trigger.spaceId}?message=${run.trigger.messageId}`}>show it</Link>
            </>
          )}
        </small>
      </li>
      {entries
        .filter((entry) => entry.type !== "tool_return_message")
        .map((entry) => (
          <Fragment key={entry.id}>
            {entry.type === "user_message" && <Prompt entry={entry} />}
            {entry.type === "assistant_message" && <Thought entry={entry} />}
            {entry.type === "tool_call_message" && <CallStep entry={entry} back={results.get(entry.callId)} brief={brief} ms={spanMs(spans.get(entry.callId ?? undefined))} />}
          </Fragment>
        ))}
      <li>
        {!run.finishedAt ? (
          <>
            <LoaderCircle size={16} className={p.spin} aria-hidden />
            {run.status === "waiting" ? "Waiting" : "Thinking…"}
          </>
        ) : run.status === "completed" ? (
          <>
            <CircleCheck size={16} color="var(--ok)" aria-hidden />
            Finished: {outcome[run.outcome ?? ""] ?? "done"}
            <small>
              <Clock at={run.finishedAt} withSeconds /> · {stopReason[run.stopReason ?? ""] ?? run.stopReason}
              {run.silenceReason && run.silenceReason !== "agent_chose_silence" ? ` · its reason: “${run.silenceReason}”` : ""}
            </small>
          </>
        ) : (
          <>
            <CircleX size={16} color="var(--bad)" aria-hidden />
            {run.status === "failed" ? "Failed" : "Stopped"}
            <small>{run.error ?? stopReason[run.stopReason ?? ""]}</small>
          </>
        )}
      </li>
    </ol>
  );
}

function spanMs(span: { startedAt: string; finishedAt?: string | null } | undefined): number | null {
  return span?.finishedAt ? Date.parse(span.finishedAt) - Date.parse(span.startedAt) : null;
}

function Prompt({ entry }: { entry: RunMessage }) {
  const parts = sections(entry.content ?? "");
  return (
    <li>
      <ScrollText size={16} aria-hidden />
      Read {parts.map((part) => part.name).join(", ")}
      <small>
        <Clock at={entry.at} withSeconds /> · about {number(parts.reduce((sum, part) => sum + part.tokens, 0))} tokens
      </small>
      {parts.map((part, at) => (
        <details key={at}>
          <summary>
            {part.name} · about {number(part.tokens)} tokens
          </summary>
          <div className={s.said} tabIndex={0} dir="auto">
            {part.text}
          </div>
        </details>
      ))}
    </li>
  );
}

function Thought({ entry }: { entry: RunMessage }) {
  if (!entry.content) return null;
  return (
    <li>
      <Brain size={16} aria-hidden />
      Thought
      <small>
        <Clock at={entry.at} withSeconds /> · nobody else reads this
      </small>
      <div className={s.said} dir="auto">
        {entry.content}
      </div>
    </li>
  );
}

function CallStep({ entry, back, brief, ms }: { entry: RunMessage; back?: RunMessage; brief?: boolean; ms: number | null }) {
  const failed = back?.isError;
  const state = failed ? "failed" : back ? "done" : "under way";
  const time = ms ?? (back ? Date.parse(back.at) - Date.parse(entry.at) : null);
  const error = isRecord(back?.result) && typeof back.result.error === "string" ? back.result.error : null;
  return (
    <li>
      <Wrench size={16} aria-hidden color={failed ? "var(--bad)" : undefined} />
      <code>{entry.toolName}</code>
      <small>
        <Clock at={entry.at} withSeconds /> · {time === null ? state : `${state}, ${took(time)}`}
      </small>
      {error && <p className={p.problem}>{error}</p>}
      <details open={!brief && entry.toolName !== "send_message"}>
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
