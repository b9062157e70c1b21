// One place that screen readers hear from: finished messages of the open room, now and then, never half a sentence.
import { createStore } from "zustand/vanilla";

export const said = createStore<{ polite: string; assertive: string }>(() => ({ polite: "", assertive: "" }));

const EVERY_MS = 3_000;
let waiting: string[] = [];
let timer: ReturnType<typeof setTimeout> | null = null;
let last = 0;

export function announce(text: string): void {
  waiting.push(text.slice(0, 120));
  if (timer) return;
  timer = setTimeout(flush, Math.max(0, last + EVERY_MS - Date.now()));
}

export function interrupt(text: string): void {
  said.setState({ assertive: text });
}

function flush(): void {
  timer = null;
  last = Date.now();
  const gathered = waiting;
  waiting = [];
  said.setState({ polite: gathered.length === 1 ? (gathered[0] as string) : `${gathered.length} new messages` });
}
