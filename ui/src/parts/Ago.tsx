import { useEffect, useReducer, useState, useSyncExternalStore } from "react";

// One clock for all relative times, every 30 seconds; and at once for whoever begins to look at it.
let now = Date.now();
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | null = null;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    now = Date.now();
    for (const each of listeners) each();
  }, 30_000);
  return () => listeners.delete(listener);
}

export function useNow(): number {
  const shared = useSyncExternalStore(subscribe, () => now);
  const [began] = useState(Date.now);
  return Math.max(shared, began);
}

/** Draws anew every second, as long as somebody counts. */
export function useSeconds(counts: boolean): void {
  const [, draw] = useReducer((times: number) => times + 1, 0);
  useEffect(() => {
    if (!counts) return;
    const each = setInterval(draw, 1_000);
    return () => clearInterval(each);
  }, [counts]);
}

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const seconds = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const full = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });
const weekday = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long" });
const withYear = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "long", year: "numeric" });
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

/** `comes`: it may lie ahead. What has happened never does, even if the clocks of office and device differ. */
export function ago(when: number, from: number, comes = false): string {
  const at = comes ? when : Math.min(when, from);
  const minutes = Math.round((at - from) / 60_000);
  if (Math.abs(minutes) < 1) return "just now";
  if (Math.abs(minutes) < 60) return relative.format(minutes, "minute");
  if (Math.abs(minutes) < 60 * 24) return relative.format(Math.round(minutes / 60), "hour");
  return relative.format(Math.round(minutes / 60 / 24), "day");
}

export function dayOf(at: string, from = Date.now()): string {
  const date = new Date(at);
  const start = (time: number): number => new Date(time).setHours(0, 0, 0, 0);
  const days = Math.round((start(date.getTime()) - start(from)) / 86_400_000);
  if (days === 0) return "Today";
  if (days === -1) return "Yesterday";
  return date.getFullYear() === new Date(from).getFullYear() ? weekday.format(date) : withYear.format(date);
}

const zoned = new Map<string, Intl.DateTimeFormat>();

/** Day and time as a clock in that zone shows them: schedules are meant there, wherever somebody reads them. */
export function inZone(at: string, timeZone: string): string {
  let format = zoned.get(timeZone);
  if (!format) zoned.set(timeZone, (format = new Intl.DateTimeFormat(undefined, { weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone })));
  return format.format(new Date(at));
}

export const clockTime = (at: string): string => clock.format(new Date(at));

/** Hours and minutes; the whole time with its zone is the title. */
export function Clock({ at, withSeconds }: { at: string; withSeconds?: boolean }) {
  const date = new Date(at);
  return (
    <time dateTime={at} title={full.format(date)}>
      {withSeconds ? seconds.format(date) : clock.format(date)}
    </time>
  );
}

export function Ago({ at, comes }: { at: string; comes?: boolean }) {
  const from = useNow();
  return (
    <time dateTime={at} title={full.format(new Date(at))}>
      {ago(Date.parse(at), from, comes)}
    </time>
  );
}
