import { ArrowLeft, Hash, Lock, PanelRight, Paperclip, Search } from "lucide-react";
import { lazy, Suspense, useEffect, useLayoutEffect, useRef, useState } from "react";
import { Link, useSearchParams } from "wouter";
import { Problem } from "../api/client";
import type { Space } from "../api/nouns";
import { announce } from "../live/announce";
import { letGo } from "../live/held";
import { openRoom, trim } from "../live/load";
import { open } from "../live/session";
import { stream } from "../live/stream";
import { store, useLive } from "../live/store";
import { Button, IconButton } from "../parts/Button";
import { Face } from "../parts/Face";
import { Empty, Failed, Notice, Skeleton } from "../parts/Notice";
import { usePanel } from "../parts/panel";
import p from "../parts/parts.module.css";
import { count, membersOf, wakeRule, wakeRuleShort } from "../words/en";
import { joinRoom, updateRoom } from "./actions";
import { Composer } from "./Composer";
import { Paused } from "./Paused";
import { nameOf, titleOf } from "./names";
import { usePresence } from "./Message";
import { Timeline } from "./Timeline";
import { Held, Typing } from "./Typing";
import { WaitingHere } from "./WaitingHere";
import { keepsRoom } from "./keeps";
import s from "./rooms.module.css";

// Nobody misses it where the line breaks while it is on its way; the room stays.
const Tour = lazy(() => import("../start/Tour").catch(() => ({ default: (_: { spaceId: string }) => null })));

export function Room({ spaceId }: { spaceId: string }) {
  const space = useLive((state) => state.spaces[spaceId]);
  const loaded = useLive((state) => state.rooms[spaceId]?.loaded ?? false);
  const [error, setError] = useState<unknown>(null);
  const [search] = useSearchParams();
  const [panel] = usePanel();
  const me = useLive((state) => state.me);
  const title = useLive((state) => (space ? titleOf(space, state) : ""));
  const [opened, setOpened] = useState(false); // where unread begins is known from then on
  const [wasHere, setWasHere] = useState(false);
  const [dragging, setDragging] = useState(false);
  const isHere = !!space && loaded;
  const gone = wasHere && !space;

  useEffect(() => {
    open.spaceId = spaceId;
    return () => {
      open.spaceId = null;
      letGo(spaceId);
      trim(spaceId);
    };
  }, [spaceId]);

  // Before anything is drawn; and again when it was forgotten, or somebody is let in again.
  useLayoutEffect(() => {
    if (gone || (opened && loaded)) return;
    setOpened(true);
    setError(null);
    openRoom(spaceId).catch(setError);
  }, [spaceId, gone, opened, loaded]);

  useEffect(() => {
    if (isHere) setWasHere(true);
  }, [isHere]);

  useEffect(
    () =>
      stream.listen((event) => {
        if (event.type !== "message_created") return;
        const message = event.message;
        if (message.spaceId !== spaceId || message.authorId === store.getState().me?.id) return;
        if (!message.text) return; // a card: whoever it waits for is told in live/notify.ts
        announce(`${nameOf(store.getState().members, message.authorId)}: ${message.text}`);
      }),
    [spaceId],
  );

  useEffect(() => {
    document.title = title ? `${title} · Bullpen` : "Bullpen";
  }, [title]);

  if (gone)
    return (
      <main className={s.room} id="main">
        <Empty title="This room is not here any more">
          <p>It was deleted, or you are no longer in it. If that is a mistake, ask somebody who is in it to invite you again.</p>
          <Link href="/" className={p.button}>
            Go to another room
          </Link>
        </Empty>
      </main>
    );
  if (error) {
    const unknown = error instanceof Problem && error.status === 404;
    if (error instanceof Problem && error.status === 403 && space)
      return (
        <main className={s.room} id="main">
          <Header spaceId={spaceId} />
          <div className={s.list}>
            <Empty title={`You are not in #${title}`}>
              <p>It is open to everybody here. Join it to read what was said and to take part.</p>
            </Empty>
          </div>
          <JoinBar spaceId={spaceId} onJoined={() => (setError(null), void openRoom(spaceId).catch(setError))} />
        </main>
      );
    return (
      <main className={s.room} id="main">
        {unknown ? (
          <Failed error={new Problem(404, "not_found", "This room does not exist, or you are not in it. Ask whoever sent the link to invite you.")} />
        ) : (
          <Failed error={error} onRetry={() => (setError(null), openRoom(spaceId).catch(setError))} />
        )}
      </main>
    );
  }
  const isMember = !!me && !!space?.members.includes(me.id);
  const editLast = (): void => {
    const mine = store.getState().rooms[spaceId]?.messages.findLast((each) => each.authorId === me?.id && !each.deletedAt && each.type === "text");
    if (mine) window.dispatchEvent(new CustomEvent("bullpen:edit", { detail: mine.id }));
  };
  return (
    <main
      className={s.room}
      id="main"
      data-drops={dragging || undefined}
      onDragOver={(event) => {
        if (!event.dataTransfer.types.includes("Files")) return;
        event.preventDefault();
        setDragging(true);
      }}
      onDragLeave={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setDragging(false);
      }}
      onDrop={(event) => {
        setDragging(false);
        if (!event.dataTransfer.files.length) return;
        event.preventDefault();
        window.dispatchEvent(new CustomEvent("bullpen:files", { detail: [...event.dataTransfer.files] }));
      }}
    >
      {dragging && isMember && (
        <div className={s.dropping}>
          <Paperclip size={20} aria-hidden /> Drop files here to attach them
        </div>
      )}
      <Header spaceId={spaceId} />
      {!space || !loaded || !opened ? (
        <>
          <div className={s.list}>
            <Skeleton />
          </div>
        </>
      ) : (
        <>
          <Timeline key={spaceId} spaceId={spaceId} goTo={search.get("message")} />
          <WaitingHere spaceId={spaceId} />
          <Held spaceId={spaceId} />
          <Typing spaceId={spaceId} />
          {!panel && (
            <Suspense fallback={null}>
              <Tour spaceId={spaceId} />
            </Suspense>
          )}
          {isMember && !space.archivedAt && <Paused spaceId={spaceId} />}
          {space.archivedAt ? <ArchivedBar space={space} /> : isMember ? <Composer key={`c-${spaceId}`} space={space} title={title} onEditLast={editLast} /> : <JoinBar spaceId={spaceId} />}
        </>
      )}
    </main>
  );
}

function JoinBar({ spaceId, onJoined }: { spaceId: string; onJoined?(): void }) {
  const isDm = useLive((state) => state.spaces[spaceId]?.kind === "dm");
  return (
    <div style={{ padding: "0 16px 16px" }}>
      <Notice>
        {isDm ? "You read along here: this conversation is between agents. " : "You are reading this room without being in it. "}
        {!isDm && <Button onClick={() => void joinRoom(spaceId).then((joined) => joined && onJoined?.())}>Join this room</Button>}
      </Notice>
    </div>
  );
}

function ArchivedBar({ space }: { space: Space }) {
  const me = useLive((state) => state.me);
  const mayRestore = keepsRoom(space, me?.id ?? "", me?.grants ?? []);
  return (
    <div style={{ padding: "0 16px 16px" }}>
      <Notice>
        This room is archived. You can read it, and nobody writes here.{" "}
        {mayRestore && <Button onClick={() => void updateRoom(space, { archived: false }, "People can write here again", { archived: true })}>Restore it</Button>}
      </Notice>
    </div>
  );
}

function Header({ spaceId }: { spaceId: string }) {
  const space = useLive((state) => state.spaces[spaceId]);
  const title = useLive((state) => (space ? titleOf(space, state) : ""));
  const [panel, setPanel] = usePanel();
  const heading = useRef<HTMLHeadingElement>(null);
  const members = space?.memberDetails.length ?? 0;
  const shown = space?.memberDetails.slice(0, 5) ?? [];
  const more = members - shown.length;
  return (
    <header className={s.head}>
      <Link href="/rooms" className={s.back} aria-label="Back to rooms" data-phone>
        <ArrowLeft size={20} />
      </Link>
      <div className={s.title}>
        <h1 ref={heading} tabIndex={-1}>
          {space?.kind !== "dm" && (space?.private ? <Lock size={15} aria-label="private" /> : <Hash size={16} aria-hidden />)}
          <span>
            <bdi>{title}</bdi>
          </span>
        </h1>
        {space && space.kind !== "dm" && (
          <p>
            {space.topic && (
              <span className={s.topic}>
                <bdi>{space.topic}</bdi> ·{" "}
              </span>
            )}
            <span data-wide>{`${membersOf(space.memberDetails)} · ${wakeRule(space.wake.people, space.trigger)}`}</span>
            <span data-narrow>{`${count(members, "member")} · ${wakeRuleShort(space.wake.people)}`}</span>
          </p>
        )}
      </div>
      <IconButton label="Search in this room" aria-expanded={panel?.kind === "search"} onClick={() => setPanel(panel?.kind === "search" ? null : "search")}>
        <Search size={18} />
      </IconButton>
      {space && space.kind !== "dm" && (
        <button type="button" className={s.faces} onClick={() => setPanel("details")} data-wide>
          <span className="unseen">Members: {members}</span>
          {shown.map((member) => (
            <SmallFace key={member.id} id={member.id} />
          ))}
          {more > 0 && <span className={s.meta}>+{more}</span>}
        </button>
      )}
      <IconButton label="Room details" aria-expanded={panel?.kind === "details"} onClick={() => setPanel(panel?.kind === "details" ? null : "details")}>
        <PanelRight size={18} />
      </IconButton>
    </header>
  );
}

function SmallFace({ id }: { id: string }) {
  return <Face id={id} size="small" presence={usePresence(id)} />;
}
