// One event stream per browser: a lock elects the tab that holds it, a channel shares its frames with the others.
// Browsers allow six connections to one address over all tabs, so a stream per tab would starve the page.
import type { OfficeEvent } from "../api/nouns";
import { api, Problem } from "../api/client";
import { parse } from "../api/exact";
import { pace } from "./pace";
import { expire, reduce } from "./reduce";
import type { Link, State } from "./state";
import { change, store } from "./store";

type Shared =
  | { kind: "frames"; frames: OfficeEvent[] }
  | { kind: "link"; link: Link; retryAt: number; here: State["here"] }
  | { kind: "hello" }
  | { kind: "try" };

type Listener = (event: OfficeEvent) => void;

// A page hears every 15 s that it is here. A line that says nothing for so long is dead, though nobody has closed it: the
// device was asleep, or something on the way has forgotten it.
const QUIET_MS = 45_000;
const LOOK_MS = 5_000;

class Stream {
  private source: EventSource | null = null;
  private channel: BroadcastChannel | null = null;
  private release: (() => void) | null = null;
  private tries = 0;
  private timer = 0;
  private looks = 0;
  private heardAt = 0;
  private readonly listeners = new Set<Listener>();
  private readonly flusher = pace((events: OfficeEvent[]) => this.take(events));
  private ready: (() => void)[] = [];
  private running = false;
  private leads = false;
  onCatchUp: () => void = () => {};

  start(): void {
    if (this.running) return;
    this.running = true;
    window.addEventListener("online", this.online);
    window.addEventListener("offline", this.cut);
    this.looks = window.setInterval(this.look, LOOK_MS);
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
    clearInterval(this.looks);
    this.channel?.close();
    this.channel = null;
    this.release?.();
    window.removeEventListener("online", this.online);
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

  /** The tab that holds the stream tries, whichever tab was asked to. */
  readonly tryNow = (): void => {
    if (!this.leads) {
      this.share({ kind: "try" });
      return;
    }
    this.tries = 0;
    clearTimeout(this.timer);
    this.open();
  };

  /** Something was refused as if nobody were signed in: is that so? */
  readonly doubt = (): void => {
    if (this.running) void this.stillMe();
  };

  private readonly online = (): void => {
    if (this.leads) this.tryNow();
  };

  private readonly cut = (): void => {
    if (this.leads) this.lost();
  };

  private readonly look = (): void => {
    change((state) => expire(state, Date.now()));
    if (!this.source || Date.now() - this.heardAt < QUIET_MS) return;
    this.source.close();
    this.source = null;
    this.announce("retrying", Date.now());
    void this.again();
  };

  private lead(): void {
    this.leads = true;
    // Whoever takes over from another tab may have been signed out by it.
    if (store.getState().link === "starting") this.open();
    else void this.again();
  }

  private hear(said: Shared): void {
    if (said.kind === "frames") this.flusher.add(...said.frames);
    else if (said.kind === "link") this.say(said.link, said.retryAt, said.here);
    else if (said.kind === "try") this.online();
    else if (this.leads) {
      const { link, retryAt, here } = store.getState();
      this.share({ kind: "link", link, retryAt, here });
    }
  }

  private share(said: Shared): void {
    this.channel?.postMessage(said);
  }

  private open(): void {
    this.source?.close();
    const after = store.getState().cursor;
    const source = new EventSource(after ? `/api/events?after=${encodeURIComponent(after)}` : "/api/events");
    this.source = source;
    this.heardAt = Date.now();
    source.onopen = () => {
      this.tries = 0;
      this.heardAt = Date.now();
      this.announce("live", 0);
    };
    source.onmessage = (frame: MessageEvent<string>) => {
      this.heardAt = Date.now();
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
    const isMe = await this.stillMe();
    if (!this.running || !this.leads) return;
    if (isMe) this.open();
    else this.lost();
  }

  /** False: there was no answer. Whoever is signed out goes to the door; what was somebody else's is not shown to another. */
  private async stillMe(): Promise<boolean> {
    try {
      const me = await api.me();
      const before = store.getState().me;
      if (before && before.id !== me.id) window.location.reload();
      return true;
    } catch (error) {
      if (error instanceof Problem && error.status === 401) this.announce("signedOut", 0);
      return false;
    }
  }

  private announce(link: Link, retryAt: number): void {
    // Who is there is told anew to whoever opens a stream.
    const here = link === "live" ? {} : store.getState().here;
    this.share({ kind: "link", link, retryAt, here });
    this.say(link, retryAt, here);
  }

  private say(link: Link, retryAt: number, here: State["here"]): void {
    const before = store.getState().link;
    change((state) => ({ ...state, link, retryAt, here }));
    if (link === "signedOut") this.stop(); // in all tabs: whichever is signed in again first may hold the stream
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
