import { useQuery } from "@tanstack/react-query";
import { Activity, BellOff, Bot, CalendarClock, ChevronDown, Coins, Cpu, Hash, Inbox, Lock, Pencil, Plus, Search, Settings, SquarePen, Users } from "lucide-react";
import { lazy, Suspense, useEffect, useRef, useState } from "react";
import { Link, useRoute } from "wouter";
import { api } from "../api/client";
import type { Space } from "../api/nouns";
import { useHasDraft } from "../live/drafts";
import { keep, kept } from "../live/kept";
import { useMuted } from "../live/muted";
import { useLive } from "../live/store";
import { IconButton } from "../parts/Button";
import { Face } from "../parts/Face";
import { number, spentToday } from "../words/en";
import { usePending, useProposals } from "../work/data";
import { usePresence } from "./Message";
import { otherOf, titleOf } from "./names";
import s from "./rooms.module.css";
import { openPalette } from "../parts/openPalette";

const NewRoom = lazy(() => import("./NewRoom"));

export function Rail({ onPick }: { onPick?(): void }) {
  const [making, setMaking] = useState<"room" | "direct" | null>(null);
  const [wasMaking, setWasMaking] = useState(false);
  useEffect(() => {
    if (making) setWasMaking(true);
  }, [making]);
  return (
    <aside className={s.rail} aria-label="Office">
      <div className={s.office}>
        <span className={s.logo} aria-hidden>
          B
        </span>
        <span>Bullpen</span>
        <IconButton label="New message" onClick={() => setMaking("direct")}>
          <SquarePen size={17} />
        </IconButton>
      </div>
      <button type="button" className={s.find} onClick={openPalette}>
        <Search size={15} aria-hidden />
        Search or jump to
        <kbd>{/Mac|iPhone|iPad/.test(navigator.platform) ? "⌘K" : "Ctrl K"}</kbd>
      </button>
      <nav className={s.nav} aria-label="Main">
        <MainLinks />
      </nav>
      <Rooms onNew={setMaking} onPick={onPick} />
      <Myself />
      {wasMaking && (
        <Suspense fallback={null}>
          <NewRoom kind={making} onClose={() => setMaking(null)} />
        </Suspense>
      )}
    </aside>
  );
}

export function MainLinks() {
  const pending = usePending();
  const proposals = useProposals();
  const waits = (pending.data?.needsMe.length ?? 0) + (proposals.data?.length ?? 0);
  const manages = useLive((state) => state.me?.grants.includes("manage_agents") ?? false);
  return (
    <>
      <MainLink below href="/pending" icon={<Inbox size={16} aria-hidden />} label="Waiting for you">
        {waits > 0 && (
          <span className={s.count} data-kind="wait" aria-label={`${waits} waiting`}>
            {waits}
          </span>
        )}
      </MainLink>
      <MainLink below href="/runs" icon={<Activity size={16} aria-hidden />} label="Runs" />
      <MainLink below href="/tasks" icon={<CalendarClock size={16} aria-hidden />} label="Tasks" />
      <MainLink below href="/agents" icon={<Bot size={16} aria-hidden />} label="Agents" />
      <MainLink href="/people" icon={<Users size={16} aria-hidden />} label="People" />
      {manages && <MainLink href="/models" icon={<Cpu size={16} aria-hidden />} label="Models" />}
      {manages && <MainLink href="/costs" icon={<Coins size={16} aria-hidden />} label="Costs" />}
    </>
  );
}

/** `below`: on a phone it stands in the bar below instead. */
function MainLink({ href, icon, label, below, children }: { href: string; icon: React.ReactNode; label: string; below?: boolean; children?: React.ReactNode }) {
  const [active] = useRoute(`${href}/*?`);
  return (
    <Link href={href} aria-current={active ? "page" : undefined} data-below={below}>
      {icon}
      {label}
      {children}
    </Link>
  );
}

function rank(space: Space, muted: boolean): number {
  return (space.mentions ?? 0) > 0 ? 0 : (space.unread ?? 0) > 0 && !muted ? 1 : 2;
}

function Rooms({ onNew, onPick }: { onNew(kind: "room" | "direct"): void; onPick?(): void }) {
  const state = useLive((all) => all);
  const spaces = Object.values(state.spaces);
  const order = useRef<string[]>([]);
  const over = useRef(false);
  const muted = useMuted();
  const named = (space: Space): string => titleOf(space, state);
  const sorted = [...spaces].sort((a, b) => rank(a, !!muted[a.id]) - rank(b, !!muted[b.id]) || named(a).localeCompare(named(b)));
  // Never reorder under somebody's pointer.
  if (!over.current) order.current = sorted.map((space) => space.id);
  const at = (space: Space): number => (order.current.indexOf(space.id) + order.current.length + 1) % (order.current.length + 1);
  const shown = over.current ? [...spaces].sort((a, b) => at(a) - at(b)) : sorted;
  const me = state.me?.id ?? "";
  const open = shown.filter((space) => !space.archivedAt);
  const mine = open.filter((space) => space.members.includes(me));
  const others = open.filter((space) => !space.members.includes(me));
  const archived = shown.filter((space) => space.archivedAt);
  return (
    <nav className={s.rooms} aria-label="Rooms" onPointerEnter={() => (over.current = true)} onPointerLeave={() => (over.current = false)}>
      <Group title="Rooms" label="New room" onNew={() => onNew("room")}>
        {mine.filter((space) => space.kind !== "dm").map((space) => <RoomLink key={space.id} space={space} title={named(space)} onPick={onPick} />)}
      </Group>
      <Group title="Direct" label="New direct message" onNew={() => onNew("direct")}>
        {mine.filter((space) => space.kind === "dm").map((space) => <RoomLink key={space.id} space={space} title={named(space)} onPick={onPick} />)}
      </Group>
      {others.length > 0 && (
        <Group title="Not joined">
          {others.map((space) => <RoomLink key={space.id} space={space} title={named(space)} onPick={onPick} />)}
        </Group>
      )}
      {archived.length > 0 && (
        <details className={s.archived}>
          <summary>Archived ({archived.length})</summary>
          <ul>
            {archived.map((space) => <RoomLink key={space.id} space={space} title={named(space)} onPick={onPick} />)}
          </ul>
        </details>
      )}
    </nav>
  );
}

/** Folded, it still shows what is unread. What is folded is remembered by this browser. */
function Group({ title, label, onNew, children }: { title: string; label?: string; onNew?(): void; children: React.ReactElement[] }) {
  const [folded, setFolded] = useState(() => kept(`fold.${title}`, false));
  const fold = (): void => {
    keep(`fold.${title}`, folded ? undefined : true);
    setFolded(!folded);
  };
  return (
    <>
      <h2>
        <button type="button" className={s.fold} aria-expanded={!folded} onClick={fold}>
          <ChevronDown size={12} aria-hidden />
          {title}
          {folded && children.length > 0 && <span className={s.meta}>{children.length}</span>}
        </button>
        {onNew && label && (
          <IconButton label={label} mini onClick={onNew}>
            <Plus size={14} />
          </IconButton>
        )}
      </h2>
      <ul>{folded ? children.filter((child) => isLoud((child.props as { space: Space }).space)) : children}</ul>
    </>
  );
}

const isLoud = (space: Space): boolean => (space.unread ?? 0) > 0 || (space.mentions ?? 0) > 0;

function RoomLink({ space, title, onPick }: { space: Space; title: string; onPick?(): void }) {
  const [active] = useRoute(`/rooms/${space.id}`);
  const me = useLive((state) => state.me?.id);
  const draft = useHasDraft(space.id);
  const muted = !!useMuted()[space.id];
  const unread = muted ? 0 : (space.unread ?? 0);
  const mentions = space.mentions ?? 0;
  const other = space.kind === "dm" ? otherOf(space, me) : undefined;
  const presence = usePresence(other ?? "");
  const mine = space.members.includes(me ?? "");
  return (
    <li>
      <Link href={`/rooms/${space.id}`} aria-current={active ? "page" : undefined} data-unread={(mine && unread > 0) || undefined} onClick={onPick}>
        {space.kind === "dm" ? (
          mine ? <Face id={other ?? ""} size="small" presence={presence} /> : <Users size={15} aria-hidden />
        ) : space.private ? (
          <Lock size={15} aria-label="private" />
        ) : (
          <Hash size={15} aria-hidden />
        )}
        <span className={s.name}>
          <bdi>{title}</bdi>
        </span>
        {muted && <BellOff size={12} aria-label="muted" />}
        {draft && !active && <Pencil size={12} aria-label="draft" />}
        {presence === "busy" && <span className={s.meta}>working</span>}
        {presence === "paused" && <span className={s.meta}>paused</span>}
        {mine && !active && mentions > 0 ? (
          <span className={s.count} data-kind="mention" aria-label={`${mentions} mentions`}>
            @{mentions}
          </span>
        ) : (
          mine && !active && unread > 0 && <span className={s.count} aria-label={`${unread} unread`}>{number(unread)}</span>
        )}
      </Link>
    </li>
  );
}

function Myself() {
  const me = useLive((state) => state.me);
  const mayAsk = me?.grants.includes("manage_agents") ?? false;
  const usage = useQuery({ queryKey: ["usage", "day"], queryFn: () => api.usage("day", 1), enabled: mayAsk });
  const today = usage.data?.items.at(-1);
  const spent = today?.costToday ?? 0;
  return (
    <div className={s.me}>
      <Face id={me?.id ?? ""} name={me?.name} kind="person" size="small" presence="here" />
      <span>
        <bdi>{me?.name}</bdi>
      </span>
      {usage.data && (
        <Link href="/costs" className={s.cost} title="Spent today by all agents" data-near={(today?.budget && spent > today.budget * 0.8) || undefined}>
          {today?.budget ? `$${spent.toFixed(2)} of $${today.budget} today` : spentToday(spent, today?.unpriced)}
        </Link>
      )}
      <Link href="/settings" aria-label="Settings" style={{ display: "grid", color: "var(--muted)", marginInlineStart: usage.data ? undefined : "auto" }}>
        <Settings size={16} aria-hidden />
      </Link>
    </div>
  );
}
