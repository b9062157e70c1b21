import { Ban, CircleCheck, CircleHelp, CircleX, Hand, LoaderCircle, TimerOff } from "lucide-react";
import { lazy, Suspense, useEffect, useState } from "react";
import { Link } from "wouter";
import { api } from "../api/client";
import { useLive } from "../live/store";
import { Args, isRecord } from "../parts/Args";
import { TextButton } from "../parts/Button";
import p from "../parts/parts.module.css";
import { toast } from "../parts/toasts";
import { useName } from "../rooms/names";
import { OUTCOME_UNKNOWN, soFar } from "../words/en";
import s from "./cards.module.css";
import { Countdown, Outside } from "./Frame";
import { gist } from "./gist";
import { SpaceAnswer } from "./SpaceAnswer";
import type { Call, Card, CardProps } from "./types";

const Result = lazy(() => import("./Result"));

const ICONS: Record<Call["status"], React.ReactNode> = {
  streaming: <LoaderCircle size={16} className={p.spin} aria-label="running" />,
  requires_action: <Hand size={16} color="var(--warn)" aria-label="waiting" />,
  complete: <CircleCheck size={16} color="var(--ok)" aria-label="done" />,
  error: <CircleX size={16} color="var(--bad)" aria-label="failed" />,
  expired: <TimerOff size={16} color="var(--muted)" aria-label="expired" />,
  cancelled: <Ban size={16} color="var(--muted)" aria-label="stopped" />,
};

/** Any tool: what it is given, how far it is, what came of it. One quiet line; the rest in Details. */
function View({ call, mayAnswer, answer, compact }: CardProps) {
  const [open, setOpen] = useState(false);
  const agent = useName(call.agentId);
  const who = useName(call.approvedBy ?? call.answeredBy);
  if (call.status === "requires_action" && call.kind !== "external" && call.kind !== "approval")
    return <SpaceAnswer call={call} mayAnswer={mayAnswer} answer={answer} compact={compact} />;
  return (
    <section className={s.line} aria-label={`${call.toolName}: ${words(call)}`} data-call={call.callId} data-status={call.status}>
      {call.isUnknown ? <CircleHelp size={16} color="var(--warn)" aria-label="outcome unknown" /> : ICONS[call.status]}
      <span className={s.what}>
        <code>{call.toolName}</code>
        <Told call={call} />
        {who && call.approvedBy && <span className={s.gist}>{`approved by ${who}${call.editedBy ? ", with changed arguments" : ""}`}</span>}
      </span>
      <span className={s.end}>
        <Under call={call} agent={agent} />
        {call.status === "requires_action" && <Countdown until={call.expiresAt} />}
        <TextButton aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? "Less" : "Details"}
        </TextButton>
      </span>
      {call.progress && call.status !== "complete" && (
        <div className={s.details}>
          {call.progress.message && <span className={s.gist}>{call.progress.message}</span>}
          {call.progress.fraction !== undefined && (
            <div className={s.bar} role="progressbar" aria-label="Progress" aria-valuenow={Math.round(call.progress.fraction * 100)} aria-valuemin={0} aria-valuemax={100}>
              <i style={{ inlineSize: `${call.progress.fraction * 100}%` }} />
            </div>
          )}
        </div>
      )}
      {open && (
        <div className={s.details}>
          <h4>Arguments</h4>
          <Args args={call.args} />
          {call.result !== undefined && (
            <>
              <h4>Result</h4>
              <Suspense fallback={null}>
                <Result value={call.result} />
              </Suspense>
            </>
          )}
          <Outside hosts={call.outside} name={agent} />
        </div>
      )}
    </section>
  );
}

function Told({ call }: { call: Call }) {
  if (call.isUnknown)
    return (
      <span className={s.unknown}>
        {OUTCOME_UNKNOWN} {call.runId && <Link href={`/runs/${call.runId}`}>See its run</Link>}
      </span>
    );
  if (call.status === "error") return <span className={s.bad}>{call.error}</span>;
  return <span className={s.gist} dir="auto">{gist(call)}</span>;
}

/**
 * How long something has been under way, and a way to end it. What a program carries out is called off; what the office
 * does itself ends with its run.
 */
function Under({ call, agent }: { call: Call; agent: string }) {
  const me = useLive((state) => state.me?.id);
  const members = useLive((state) => (call.spaceId ? state.spaces[call.spaceId]?.members : undefined));
  const [stops, setStops] = useState(false);
  const runs = call.status === "streaming";
  const waits = call.status === "requires_action" && call.kind === "external";
  if (runs && !call.argsComplete) return <span>writing</span>;
  if ((!runs && !waits) || !call.createdAt) return null;
  const stop = async (): Promise<void> => {
    setStops(true);
    try {
      await (waits ? api.cancelCall(call.callId) : api.cancelRun(call.runId ?? ""));
    } catch (error) {
      setStops(false);
      toast(error);
    }
  };
  const may = !!me && (!call.spaceId || !!members?.includes(me)) && (waits || !!call.runId);
  return (
    <>
      <Elapsed since={call.createdAt} />
      {may && (
        <TextButton disabled={stops} onClick={() => void stop()} aria-label={`Stop ${call.toolName}`} title={waits ? undefined : `Ends this run of ${agent}`}>
          {stops ? "Stopping…" : "Stop"}
        </TextButton>
      )}
    </>
  );
}

function Elapsed({ since }: { since: string }) {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  return <span>for {soFar(now - Date.parse(since))}</span>;
}

function words(call: Call): string {
  if (call.isUnknown) return "outcome unknown";
  return { streaming: "running", requires_action: "waiting", complete: "done", error: call.error ?? "failed", expired: "nobody answered", cancelled: "stopped" }[call.status];
}

export const fallbackCard: Card = { summary: (call) => `${call.toolName} ${gist(call)}`.trim(), View, accepts: (args) => args === undefined || isRecord(args) };
