// One event stream per browser: a lock elects the tab that holds it, a channel shares its frames with the others.
// Browsers allow six connections to one address over all tabs, so a stream per tab would starve the page.
import type { OfficeEvent } from "../api/nouns";
import { api, Problem } from "../api/client";
import { parse } from "../api/exact";
import { pace } from "./pace";
import { expire, reduce } from "./reduce";
import type { Link } from "./state";
import { change, store } from "./store";

type Shared =
  | { kind: "frames"; frames: OfficeEvent[] }
  | { kind: "link"; link: Link; retryAt: number }
  | { kind: "hello" };

type Listener = (event: OfficeEvent) => void;

const QUIET_MS = 45_000; // a comment comes every 15 s, but only the browser sees those; a long silence is checked

class Stream {
  private source: EventSource | null = null;
  private channel: BroadcastChannel | null = null;
  private release: (() => void) | null = null;
  private tries = 0;
  private timer = 0;
  private readonly listeners = new Set<Listener>();
  private readonly flusher = pace((events: OfficeEvent[]) => this.take(events));
  private ready: (() => void)[] = [];
  private running = false;
  private leads = false;
  onCatchUp: () => void = () => {};

  start(): void {
    if (this.running) return;
    this.running = true;
    window.addEventListener("online", this.tryNow);
    window.addEventListener("offline", this.cut);
    setInterval(() => change((state) => expire(state, Date.now())), 5_000);
    if (!("locks" in navigator) || !("BroadcastChannel" in window)) {
      this.lead();
      return;
    }
    this.channel = new BroadcastChannel("bullpen");
    this.channel.onmessage = (said: MessageEvent<Shared>) => this.hear(said.data);
    this.channel.postMessage({ kind: "hello" } satisfies Shared);
    void navigator.locks.request("bullpen-stream", () => {
      if (!this.running) return undefined;
      this.lead();
      return new Promise<void>((resolve) => (this.release = resolve));
    });
  }

  stop(): void {
    this.running = false;
    this.leads = false;
    this.source?.close();
    this.source = null;
    clearTimeout(this.timer);
    this.channel?.close();
    this.channel = null;
    this.release?.();
    window.removeEventListener("online", this.tryNow);
    window.removeEventListener("offline", this.cut);
  }

  /** Called with every event, in order, after the store has it. */
  listen(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Resolves once events arrive here: what is fetched afterwards misses nothing. */
  connected(): Promise<void> {
    if (store.getState().link === "live") return Promise.resolve();
    return new Promise((resolve) => this.ready.push(resolve));
  }

  readonly tryNow = (): void => {
    if (!this.leads) return;
    this.tries = 0;
    clearTimeout(this.timer);
    this.open();
  };

  private readonly cut = (): void => {
    if (this.leads) this.lost();
  };

  private lead(): void {
    this.leads = true;
    this.open();
  }

  private hear(said: Shared): void {
    if (said.kind === "frames") this.flusher.add(...said.frames);
    else if (said.kind === "link") this.say(said.link, said.retryAt);
    else if (this.leads) this.share({ kind: "link", link: store.getState().link, retryAt: store.getState().retryAt });
  }

  private share(said: Shared): void {
    this.channel?.postMessage(said);
  }

  private open(): void {
    this.source?.close();
    const after = store.getState().cursor;
    const source = new EventSource(after ? `/api/events?after=${encodeURIComponent(after)}` : "/api/events");
    this.source = source;
    source.onopen = () => {
      this.tries = 0;
      this.announce("live", 0);
    };
    source.onmessage = (frame: MessageEvent<string>) => {
      const event = parse(frame.data) as OfficeEvent;
      if (frame.lastEventId) event.cursor = frame.lastEventId;
      this.flusher.add(event);
      this.share({ kind: "frames", frames: [event] });
    };
    source.onerror = () => {
      if (this.source === source) this.lost();
    };
  }

  private lost(): void {
    this.source?.close();
    this.source = null;
    if (!this.running) return;
    const wait = Math.min(30_000, 1_000 * 2 ** this.tries) * (0.75 + Math.random() / 2);
    this.tries += 1;
    this.announce(navigator.onLine ? "retrying" : "offline", Date.now() + wait);
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.again(), wait);
  }

  /** EventSource hides why it was refused, so ask: signed out, or only away? */
  private async again(): Promise<void> {
    try {
      await api.me();
    } catch (error) {
      if (error instanceof Problem && error.status === 401) {
        this.announce("signedOut", 0);
        return;
      }
      this.lost();
      return;
    }
    this.open();
  }

  private announce(link: Link, retryAt: number): void {
    this.share({ kind: "link", link, retryAt });
    this.say(link, retryAt);
  }

  private say(link: Link, retryAt: number): void {
    const before = store.getState().link;
    change((state) => ({ ...state, link, retryAt }));
    if (link !== "live") return;
    for (const resolve of this.ready.splice(0)) resolve();
    if (before !== "live" && before !== "starting") this.onCatchUp();
  }

  private take(events: OfficeEvent[]): void {
    change((state) => reduce(state, events));
    for (const event of events) for (const listener of this.listeners) listener(event);
  }
}

export const stream = new Stream();
export { QUIET_MS };
