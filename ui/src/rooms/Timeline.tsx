import { ArrowUp } from "lucide-react";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { useStore } from "zustand";
import { useShallow } from "zustand/shallow";
import { loadBackTo, loadOlder, trim } from "../live/load";
import { outbox } from "../live/outbox";
import { emptyRoom } from "../live/state";
import { useLive } from "../live/store";
import { clockTime, dayOf } from "../parts/Ago";
import { isSilenced } from "../parts/shortcuts";
import { toast } from "../parts/toasts";
import { count } from "../words/en";
import { Beginning, NoticeRow, SystemRow } from "./Lines";
import { MessageRow, PartialRow, UnsentRow } from "./Message";
import { titleOf, useName } from "./names";
import { isUnreadFarAbove, rowsOf, type Row } from "./rows";
import s from "./rooms.module.css";
import { useFollow } from "./useFollow";
import { useRead } from "./useRead";

const MOST_MESSAGES = 1_000;
const FAR_FROM_TOP = 1_500;

export function Timeline({ spaceId, goTo }: { spaceId: string; goTo: string | null }) {
  const room = useLive((state) => state.rooms[spaceId] ?? emptyRoom);
  const me = useLive((state) => state.me?.id);
  const title = useLive((state) => (state.spaces[spaceId] ? titleOf(state.spaces[spaceId], state) : spaceId));
  const unsent = useStore(outbox, useShallow((state) => state.items.filter((item) => item.spaceId === spaceId)));
  const rows = useMemo(() => rowsOf(room, unsent, me), [room, unsent, me]);
  const list = useRef<HTMLDivElement>(null);
  const [current, setCurrent] = useState<string | null>(null);
  const [found, setFound] = useState<string | null>(null);
  const [loads, setLoads] = useState(0);
  const [knowsWhere, setKnowsWhere] = useState(false); // unread begins: it has been on screen
  const [seeks, setSeeks] = useState(false); // the first unread, which has been loaded
  const settled = useRef(false);

  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => list.current,
    estimateSize: (index) => heightOf(rows[index]),
    getItemKey: (index) => rows[index]?.key ?? index,
    anchorTo: "end",
    overscan: 8,
    paddingEnd: 20, // what a message offers hangs below it
  });
  const items = virtual.getVirtualItems();
  const { atEnd, ...follow } = useFollow(list, virtual.getTotalSize());
  const goToRow = (index: number, align: "start" | "center" | "auto"): void => {
    follow.stop();
    virtual.scrollToIndex(index, { align });
  };

  // Where to begin: at what was asked for, else at the first unread if it is off screen, else at the end.
  useLayoutEffect(() => {
    if (settled.current || !rows.length) return;
    settled.current = true;
    const divider = rows.findIndex((row) => row.kind === "new");
    if (!goTo && divider >= 0 && rows.length - divider > 12) goToRow(divider, "start");
    else virtual.scrollToEnd();
  }, [rows.length]);

  useEffect(() => {
    if (!goTo || !room.loaded) return;
    let stopped = false;
    void (async () => {
      const { api } = await import("../api/client");
      const target = room.messages.find((each) => each.id === goTo) ?? (await api.message(goTo).catch(() => null));
      if (!target || stopped) return;
      await loadBackTo(spaceId, target.seq);
      requestAnimationFrame(() => setFound(goTo));
    })();
    return () => {
      stopped = true;
    };
  }, [goTo, room.loaded]);

  useEffect(() => {
    if (!found) return;
    const index = rows.findIndex((row) => row.kind === "message" && row.message.id === found);
    if (index >= 0) goToRow(index, "center");
    const timer = setTimeout(() => setFound(null), 3_000);
    return () => clearTimeout(timer);
  }, [found]);

  const first = items[0]?.index ?? 0;
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (!settled.current || first >= 12 || !room.loaded || room.complete) return;
    if ((list.current?.scrollTop ?? 0) > FAR_FROM_TOP) return; // just opened: its end is about to be drawn
    void loadOlder(spaceId).then(
      () => setLoads((before) => before + 1),
      () => undefined,
    );
  }, [first, loads, room.loaded, room.complete, spaceId]);

  const toEnd = (): void => {
    follow.start();
    virtual.scrollToEnd();
    requestAnimationFrame(() => virtual.scrollToEnd());
  };
  const divider = useMemo(() => rows.findIndex((row) => row.kind === "new"), [rows]);
  const unreadAbove = isUnreadFarAbove(room) || (divider >= 0 && divider < first);
  useEffect(() => {
    if (divider >= first && divider <= last) setKnowsWhere(true);
  }, [divider, first, last]);
  const toFirstUnread = async (): Promise<void> => {
    await loadBackTo(spaceId, room.dividerSeq ?? 0).catch(toast);
    setSeeks(true);
  };
  useEffect(() => {
    if (!seeks || divider < 0) return;
    setSeeks(false);
    goToRow(divider, "start");
  }, [seeks, divider]);

  const { unseen } = useRead(spaceId, atEnd);
  // A room that is left open for days: whoever reads at its end does not need what was said hours ago.
  useEffect(() => {
    if (atEnd && !goTo && !seeks && settled.current && room.messages.length > MOST_MESSAGES) trim(spaceId, MOST_MESSAGES / 2);
  }, [atEnd, goTo, seeks, room.messages.length, spaceId]);

  useEffect(() => {
    const go = (): void => toEnd();
    window.addEventListener("bullpen:end", go);
    return () => window.removeEventListener("bullpen:end", go);
  });

  // A message that is to be edited may be off screen, where it has no row to hear of it.
  useEffect(() => {
    const edit = (event: Event): void => {
      const id = (event as CustomEvent<string>).detail;
      const index = rows.findIndex((row) => row.kind === "message" && row.message.id === id);
      const row = rows[index];
      if (!row || document.getElementById(rowId(row.key))) return;
      goToRow(index, "center");
      const again = (tries: number): void => {
        if (document.getElementById(rowId(row.key))) window.dispatchEvent(new CustomEvent("bullpen:edit", { detail: id }));
        else if (tries) requestAnimationFrame(() => again(tries - 1));
      };
      requestAnimationFrame(() => again(60));
    };
    window.addEventListener("bullpen:edit", edit);
    return () => window.removeEventListener("bullpen:edit", edit);
  });

  const onKeyDown = (event: React.KeyboardEvent): void => {
    if (event.target instanceof HTMLElement && event.target.closest("input, textarea, select, [role=menu]")) return;
    const messages = rows.filter((row) => row.kind === "message" || row.kind === "partial");
    const at = messages.findIndex((row) => row.key === current);
    const move = (to: number): void => {
      const next = messages[Math.max(0, Math.min(messages.length - 1, to))];
      if (!next) return;
      event.preventDefault();
      setCurrent(next.key);
      goToRow(rows.indexOf(next), "auto");
      requestAnimationFrame(() => document.getElementById(rowId(next.key))?.focus({ preventScroll: true }));
    };
    if (event.metaKey || event.ctrlKey || event.altKey || isSilenced(event.key)) return;
    if (event.key === "j" || event.key === "ArrowDown") move(at < 0 ? messages.length - 1 : at + 1);
    else if (event.key === "k" || event.key === "ArrowUp") move(at < 0 ? messages.length - 1 : at - 1);
    else if (event.key === "Home" && at >= 0) move(0);
    else if (event.key === "End" && at >= 0) move(messages.length - 1);
    else {
      const wanted = { r: "reply", e: "react", w: "why", Enter: "more" }[event.key];
      const row = current ? document.getElementById(rowId(current)) : null;
      if (!wanted || !row || (event.key === "Enter" && event.target !== row)) return;
      event.preventDefault();
      row.querySelector<HTMLElement>(`[data-do="${wanted}"]`)?.click();
    }
  };

  const waitsAbove = rows.slice(0, first).filter(needsMe).length;
  return (
    <>
      <div
        ref={list}
        className={s.list}
        role="log"
        aria-live="off"
        aria-label={`Messages in ${title}`}
        tabIndex={0}
        onKeyDown={onKeyDown}
        {...follow.events}
        data-last={last}
      >
        <div className={s.inner} style={{ blockSize: virtual.getTotalSize() }}>
          {items.map((item) => {
            const row = rows[item.index] as Row;
            return (
              <div key={item.key} data-index={item.index} ref={virtual.measureElement} className={s.slot} style={{ transform: `translateY(${item.start}px)` }}>
                <Drawn row={row} spaceId={spaceId} current={current === row.key} found={row.kind === "message" && row.message.id === found} onFocus={() => setCurrent(row.key)} position={item.index + 1} size={rows.length} />
              </div>
            );
          })}
        </div>
      </div>
      {waitsAbove > 0 && (
        <button type="button" className={s.waits} onClick={() => goToRow(rows.findIndex(needsMe), "center")}>
          <ArrowUp size={14} aria-hidden /> {count(waitsAbove, "card waits", "cards wait")} above
        </button>
      )}
      <div className={s.below}>
        <div className={s.jump}>
          {unreadAbove && !knowsWhere && (
            <button type="button" onClick={() => void toFirstUnread()}>
              ↑ First unread
            </button>
          )}
          {!atEnd && (
            <button type="button" onClick={toEnd}>
              ↓ {unseen > 0 ? `${unseen} new` : "Newest"}
            </button>
          )}
        </div>
      </div>
    </>
  );
}

/** About how high a row is before it has been measured. */
function heightOf(row: Row | undefined): number {
  if (!row || row.kind === "day" || row.kind === "new" || row.kind === "notice") return 36;
  if (row.kind === "start") return 84;
  if (row.kind === "message" && row.message.type === "tool") return row.message.status === "requires_action" ? 220 : 60;
  return row.tight ? 28 : 62;
}

function needsMe(row: Row): boolean {
  return row.kind === "message" && row.message.type === "tool" && row.message.status === "requires_action";
}

export const rowId = (key: string): string => `row-${key}`;

function Drawn({ row, spaceId, current, found, onFocus, position, size }: { row: Row; spaceId: string; current: boolean; found: boolean; onFocus(): void; position: number; size: number }) {
  if (row.kind === "day") return <div className={s.rule}>{dayOf(row.at)}</div>;
  if (row.kind === "new")
    return (
      <div className={s.rule} data-new role="separator" aria-label={`${row.count} new`}>
        {row.count} new since {clockTime(row.at)}
      </div>
    );
  if (row.kind === "start") return <Beginning spaceId={spaceId} />;
  if (row.kind === "notice") return <NoticeRow notice={row.notice} spaceId={spaceId} />;
  if (row.kind === "message" && row.message.authorKind === "system") return <SystemRow message={row.message} />;
  const author = row.kind === "message" ? row.message.authorId : row.kind === "partial" ? row.partial.agentId : "";
  return (
    <Article id={rowId(row.key)} author={author} tight={row.tight} current={current} found={found} onFocus={onFocus} position={position} size={size} at={row.kind === "message" ? row.message.createdAt : undefined}>
      {row.kind === "message" && <MessageRow message={row.message} tight={row.tight} runEnds={row.runEnds} replies={row.replies} />}
      {row.kind === "partial" && <PartialRow partial={row.partial} tight={row.tight} spaceId={spaceId} />}
      {row.kind === "unsent" && <UnsentRow item={row.item} tight={row.tight} />}
    </Article>
  );
}

function Article({ id, author, tight, current, found, onFocus, position, size, at, children }: { id: string; author: string; tight: boolean; current: boolean; found: boolean; onFocus(): void; position: number; size: number; at?: string; children: React.ReactNode }) {
  const name = useName(author) || "You";
  return (
    <article id={id} className={s.row} data-tight={tight || undefined} data-current={current || undefined} data-found={found || undefined} tabIndex={-1} onFocus={onFocus} aria-posinset={position} aria-setsize={size} aria-label={at ? `${name}, ${clockTime(at)}` : name}>
      {children}
    </article>
  );
}
