// One place that screen readers hear from: finished messages of the open room, now and then, never half a sentence; and at
// once what cannot wait, which is a card that needs somebody and a lost connection.
import { createStore } from "zustand/vanilla";

type Voice = "polite" | "assertive";
export const said = createStore<Record<Voice, string>>(() => ({ polite: "", assertive: "" }));

const EVERY_MS = 3_000;
const GATHER_MS = 100;
const HEARD_MS = 2_000; // then it is taken away, else the same words would not be heard a second time
let waiting: string[] = [];
let urgent: string[] = [];
let timer: ReturnType<typeof setTimeout> | null = null;
let last = 0;
const clearing: Partial<Record<Voice, ReturnType<typeof setTimeout>>> = {};

export function announce(text: string): void {
  waiting.push(text.slice(0, 120));
  if (timer) return;
  timer = setTimeout(flush, Math.max(0, last + EVERY_MS - Date.now()));
}

export function interrupt(text: string): void {
  urgent.push(text.slice(0, 200));
  if (urgent.length > 1) return;
  setTimeout(() => {
    speak("assertive", urgent.join(" "));
    urgent = [];
  }, GATHER_MS);
}

function flush(): void {
  timer = null;
  last = Date.now();
  const gathered = waiting;
  waiting = [];
  speak("polite", gathered.length === 1 ? (gathered[0] as string) : `${gathered.length} new messages`);
}

function speak(voice: Voice, text: string): void {
  clearTimeout(clearing[voice]);
  said.setState({ [voice]: text });
  clearing[voice] = setTimeout(() => said.setState({ [voice]: "" }), HEARD_MS);
}
