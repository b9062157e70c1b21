// The office itself: rail, middle, panel, and what is reachable from everywhere.
import { Activity, Bot, CalendarClock, Inbox, MessagesSquare, RefreshCw, WifiOff } from "lucide-react";
import { lazy, Suspense, useEffect, useState } from "react";
import { useStore } from "zustand";
import { Link, Redirect, Route, Switch, useLocation, useRoute } from "wouter";
import { interrupt, said } from "./live/announce";
import { build } from "./live/build";
import { outbox } from "./live/outbox";
import { useMuted } from "./live/muted";
import { stream } from "./live/stream";
import { useLive } from "./live/store";
import { useSeconds } from "./parts/Ago";
import { Button } from "./parts/Button";
import { Skeleton } from "./parts/Notice";
import { usePanel } from "./parts/panel";
import { useShortcuts } from "./parts/shortcuts";
import { Rail } from "./rooms/Rail";
import { Room } from "./rooms/Room";
import r from "./rooms/rooms.module.css";
import { count } from "./words/en";
import { usePending, useProposals } from "./work/data";
import s from "./look/shell.module.css";

const Palette = lazy(() => import("./parts/Palette"));
const Panel = lazy(() => import("./work/Panel"));
const Pending = lazy(() => import("./work/Pending"));
const Runs = lazy(() => import("./work/Runs"));
const Run = lazy(() => import("./work/Run"));
const Tasks = lazy(() => import("./work/Tasks"));
const Task = lazy(() => import("./work/Task"));
const Agents = lazy(() => import("./work/Agents"));
const Agent = lazy(() => import("./work/Agent"));
const People = lazy(() => import("./work/People"));
const Models = lazy(() => import("./work/Models"));
const Costs = lazy(() => import("./work/Costs"));
const Search = lazy(() => import("./rooms/Search"));
const Settings = lazy(() => import("./work/Settings"));
const Welcome = lazy(() => import("./rooms/Welcome"));

export function Office() {
  const [place, go] = useLocation();
  const [panel] = usePanel();
  const [inRoom, params] = useRoute("/rooms/:id");
  const [onRail] = useRoute("/rooms");
  useShortcuts();
  useUnreadTitle();
  useHeadings(place);
  useEffect(() => {
    const onGo = (event: Event): void => go((event as CustomEvent<string>).detail);
    const onWorker = (event: MessageEvent<{ go?: string }>): void => {
      if (event.data?.go) go(event.data.go);
    };
    window.addEventListener("bullpen:go", onGo);
    navigator.serviceWorker?.addEventListener("message", onWorker);
    return () => {
      window.removeEventListener("bullpen:go", onGo);
      navigator.serviceWorker?.removeEventListener("message", onWorker);
    };
  }, [go]);

  return (
    <>
      <div className={s.shell} data-panel={panel ? true : undefined} data-rail={onRail || undefined} data-full={inRoom || undefined}>
        <a href="#main" className={s.skip}>
          Skip to the middle
        </a>
        <Rail />
        <div className={s.middle}>
          <Strip />
          <Newer />
          <Suspense fallback={<main id="main"><Skeleton /></main>}>
            <Switch>
              <Route path="/rooms/:id">{({ id }) => <Room key={id} spaceId={decodeURIComponent(id)} />}</Route>
              <Route path="/pending"><Pending /></Route>
              <Route path="/runs"><Runs /></Route>
              <Route path="/runs/:id">{({ id }) => <Run key={id} id={decodeURIComponent(id)} />}</Route>
              <Route path="/tasks"><Tasks /></Route>
              <Route path="/tasks/:id">{({ id }) => <Task key={id} id={decodeURIComponent(id)} />}</Route>
              <Route path="/agents"><Agents /></Route>
              <Route path="/agents/:id">{({ id }) => <Agent key={id} id={decodeURIComponent(id)} />}</Route>
              <Route path="/people"><People /></Route>
              <Route path="/models"><Models /></Route>
              <Route path="/costs"><Costs /></Route>
              <Route path="/search"><Search /></Route>
              <Route path="/settings"><Settings /></Route>
              <Route><Home /></Route>
            </Switch>
          </Suspense>
        </div>
        {panel && (
          <Suspense fallback={<aside className={r.panel} data-panelbox />}>
            <Panel spaceId={params?.id ?? null} />
          </Suspense>
        )}
        <Tabs />
      </div>
      <WhenAsked />
      <Voice />
    </>
  );
}

/** Where to begin: the room that was open last, else the first one. */
function Home() {
  const [onRail] = useRoute("/rooms");
  const first = useLive((state) => {
    const mine = Object.values(state.spaces).filter((space) => space.members.includes(state.me?.id ?? ""));
    return mine.find((space) => space.id === "general")?.id ?? mine.find((space) => space.kind === "channel")?.id ?? mine[0]?.id;
  });
  const known = useLive((state) => state.known);
  const narrow = matchMedia("(max-width: 720px)").matches;
  if (onRail && narrow) return <main id="main" />;
  if (first) return <Redirect to={`/rooms/${first}`} replace />;
  return known ? <Welcome /> : <main id="main" className={r.room}><Skeleton /></main>;
}

function Strip() {
  const link = useLive((state) => state.link);
  const retryAt = useLive((state) => state.retryAt);
  const waiting = useStore(outbox, (state) => state.items.filter((item) => !item.failed).length);
  const [late, setLate] = useState(false);
  const away = link === "retrying" || link === "offline";
  useSeconds(away);
  useEffect(() => {
    if (!away) {
      setLate(false);
      return;
    }
    const timer = setTimeout(() => {
      setLate(true);
      interrupt("No connection to the office. It is tried again by itself.");
    }, 700);
    return () => clearTimeout(timer);
  }, [away]);
  if (!away || !late) return null;
  const seconds = Math.max(1, Math.round((retryAt - Date.now()) / 1000));
  return (
    <div className={r.strip}>
      <WifiOff size={16} aria-hidden />
      <span>
        No connection to the office. {link === "offline" ? "This device is offline." : `Trying again in ${seconds} s.`} You can keep writing
        {waiting > 0 ? `; ${count(waiting, "message")} will go out then.` : "."}
      </span>
      <Button onClick={stream.tryNow}>Try now</Button>
    </div>
  );
}

/** Nothing is taken from whoever is writing: drafts are kept in the browser, and the page waits until it is told to. */
function Newer() {
  const newer = useStore(build, (state) => state.newer);
  if (!newer) return null;
  return (
    <div className={r.strip} role="status" data-quiet>
      <RefreshCw size={16} aria-hidden />
      <span>This page is older than its server. What you have begun to write stays.</span>
      <Button onClick={() => window.location.reload()}>Reload</Button>
    </div>
  );
}

function Tabs() {
  const [place] = useLocation();
  const waits = (usePending().data?.needsMe.length ?? 0) + (useProposals().data?.length ?? 0);
  const tab = (href: string, label: string, icon: React.ReactNode, badge = 0) => (
    <Link href={href} aria-current={place.startsWith(href) ? "page" : undefined}>
      {icon}
      {label}
      {badge > 0 && <sup>{badge}</sup>}
    </Link>
  );
  return (
    <nav className={s.tabs} aria-label="Main, below">
      {tab("/rooms", "Rooms", <MessagesSquare size={20} aria-hidden />)}
      {tab("/pending", "Waiting", <Inbox size={20} aria-hidden />, waits)}
      {tab("/runs", "Runs", <Activity size={20} aria-hidden />)}
      {tab("/tasks", "Tasks", <CalendarClock size={20} aria-hidden />)}
      {tab("/agents", "Agents", <Bot size={20} aria-hidden />)}
    </nav>
  );
}

/** After a change of view, screen readers and keyboards begin at its heading. */
function useHeadings(place: string): void {
  const [first, setFirst] = useState(true);
  useEffect(() => {
    if (first) {
      setFirst(false);
      return;
    }
    if (place.startsWith("/rooms/") && matchMedia("(hover: hover)").matches) return;
    // A view may still have to be loaded, and the one before is hidden until then.
    const timer = setInterval(() => {
      const heading = [...document.querySelectorAll<HTMLElement>("main h1")].find((each) => each.offsetParent !== null);
      heading?.focus({ preventScroll: true });
      if (heading && document.activeElement === heading) clearInterval(timer);
    }, 50);
    return () => clearInterval(timer);
  }, [place]);
}

/** The palette and the list of shortcuts are loaded when somebody asks for one of them. */
function WhenAsked() {
  const [asked, setAsked] = useState<"palette" | "help" | null>(null);
  useEffect(() => {
    const palette = (): void => setAsked((before) => before ?? "palette");
    const help = (): void => setAsked((before) => before ?? "help");
    window.addEventListener("bullpen:palette", palette);
    window.addEventListener("bullpen:help", help);
    return () => {
      window.removeEventListener("bullpen:palette", palette);
      window.removeEventListener("bullpen:help", help);
    };
  }, []);
  if (!asked) return null;
  return (
    <Suspense fallback={null}>
      <Palette first={asked} />
    </Suspense>
  );
}

/** How much is unread stands before the title, whichever view has set it. */
function useUnreadTitle(): void {
  const muted = useMuted();
  const unread = useLive((state) => {
    const me = state.me?.id ?? "";
    return Object.values(state.spaces).reduce((sum, space) => sum + (space.members.includes(me) ? ((muted[space.id] ? space.mentions : space.unread) ?? 0) : 0), 0);
  });
  useEffect(() => {
    const show = (): void => {
      const plain = document.title.replace(/^\(\d+\) /, "");
      const wanted = unread ? `(${unread}) ${plain}` : plain;
      if (document.title !== wanted) document.title = wanted;
    };
    show();
    const title = document.querySelector("title");
    const watch = new MutationObserver(show);
    if (title) watch.observe(title, { childList: true });
    return () => watch.disconnect();
  }, [unread]);
}

function Voice() {
  const { polite, assertive } = useStore(said);
  return (
    <>
      <div className="unseen" role="status" aria-live="polite">
        {polite}
      </div>
      <div className="unseen" role="alert" aria-live="assertive">
        {assertive}
      </div>
    </>
  );
}
