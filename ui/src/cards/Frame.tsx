import { Ban, CircleCheck, CircleX, Clock as ClockIcon, Globe, TimerOff } from "lucide-react";
import { useEffect, useState, type ReactNode } from "react";
import { useName } from "../rooms/names";
import { Who } from "../rooms/Who";
import { left } from "../words/en";
import s from "./cards.module.css";
import type { Call } from "./types";

export function Frame({ icon, title, label, call, end, children }: { icon: ReactNode; title: ReactNode; label: string; call: Call; end?: ReactNode; children?: ReactNode }) {
  return (
    <section className={s.card} data-ask={call.status === "requires_action" || undefined} aria-label={label} data-call={call.callId}>
      <header>
        {icon}
        <b dir="auto">{title}</b>
        <span className={s.end}>
          {end}
          {call.status === "requires_action" && <Countdown until={call.expiresAt} />}
        </span>
      </header>
      {children && <div className={s.body}>{children}</div>}
    </section>
  );
}

/** Every second in the last minute, else every minute. */
export function Countdown({ until }: { until?: string }) {
  const [now, setNow] = useState(Date.now);
  const ms = until ? Date.parse(until) - now : 0;
  useEffect(() => {
    if (!until) return;
    const timer = setTimeout(() => setNow(Date.now()), ms > 0 && ms < 3_600_000 ? 1_000 : 60_000);
    return () => clearTimeout(timer);
  }, [until, now]);
  if (!until) return null;
  return (
    <span className={s.end}>
      <ClockIcon size={13} aria-hidden /> {left(ms)}
    </span>
  );
}

export function Outside({ hosts, name }: { hosts?: string[]; name: string }) {
  if (!hosts?.length) return null;
  return (
    <p className={s.note}>
      <Globe size={15} aria-hidden />
      <span>
        <bdi>{name}</bdi> read {hosts.join(", ")} before asking. Text from outside can be wrong or a trap.
      </span>
    </p>
  );
}

/** Why somebody is asked, if no policy says so. */
export function Because({ hosts, name }: { hosts: string[]; name: string }) {
  return (
    <p className={s.note}>
      <Globe size={15} aria-hidden />
      <span>
        You are asked because <bdi>{name}</bdi> read {hosts.join(", ")}. Text from outside can be wrong or a trap.
      </span>
    </p>
  );
}

/** What became of a card that asked: who answered what, or why nobody did. */
export function Outcome({ call, words }: { call: Call; words: string }) {
  const who = useName(call.answeredBy);
  if (call.status === "expired")
    return (
      <p className={s.done}>
        <TimerOff size={15} aria-hidden /> Nobody answered in time. The agent was told.
      </p>
    );
  if (call.status === "cancelled")
    return (
      <p className={s.done}>
        <Ban size={15} aria-hidden /> Withdrawn{who && <> by <Who id={call.answeredBy} /></>}.
      </p>
    );
  if (call.status === "error")
    return (
      <p className={s.done}>
        <CircleX size={15} aria-hidden className={s.bad} /> {call.error ?? words}
        {who && <> · <Who id={call.answeredBy} /></>}
      </p>
    );
  return (
    <p className={s.done}>
      <CircleCheck size={15} aria-hidden className={s.ok} />
      <span dir="auto">
        {who && <b><Who id={call.answeredBy} />: </b>}
        {words}
      </span>
    </p>
  );
}

export const FIRST_COUNTS = "Anyone in this room can answer. First answer counts.";

export function WhoMay({ call, mayAnswer }: { call: Call; mayAnswer: boolean }) {
  if (call.status !== "requires_action") return null;
  const text = mayAnswer ? FIRST_COUNTS : call.kind === "approval" ? "An owner or an admin decides." : "Waiting for an answer.";
  return <span className={s.gist}>{text}</span>;
}
