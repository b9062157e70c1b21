import { Hash, Lock, Plus, SquarePen } from "lucide-react";
import { lazy, Suspense, useEffect, useState } from "react";
import { useLocation } from "wouter";
import type { Space } from "../api/nouns";
import { useLive, useLiveShallow } from "../live/store";
import { Button } from "../parts/Button";
import p from "../parts/parts.module.css";
import { membersOf, wakeRule } from "../words/en";
import { joinRoom } from "./actions";
import NewRoom from "./NewRoom";
import s from "./rooms.module.css";

const FirstSteps = lazy(() => import("../start/FirstSteps"));

/** For whoever is in no room yet: somebody who has just been invited, or the owner of an empty office. */
export default function Welcome() {
  const name = useLive((state) => state.me?.name);
  const manages = useLive((state) => state.me?.grants.includes("manage_agents") ?? false);
  const spaces = useLiveShallow((state) => Object.values(state.spaces).filter((space) => space.kind !== "dm"));
  const joinable = [...spaces].sort((a, b) => b.members.length - a.members.length || a.name.localeCompare(b.name));
  const [making, setMaking] = useState<"room" | "direct" | null>(null);
  const isNew = manages && !spaces.length;
  useEffect(() => {
    document.title = "Welcome · Bullpen";
  }, []);
  return (
    <main id="main" className={s.room}>
      <div className={s.welcome}>
        <h1 tabIndex={-1}>
          Welcome, <bdi>{name}</bdi>
        </h1>
        <p>
          {spaces.length
            ? "You are in no room yet. Join one to read what is said there, and to write; its agents answer you where everybody sees it."
            : manages
              ? "This office is empty. Three steps, and somebody answers you:"
              : "There is no room that you could join yet. Make one, or ask whoever invited you to add you to theirs."}
        </p>
        {isNew && (
          <Suspense fallback={null}>
            <FirstSteps onNewRoom={() => setMaking("room")} />
          </Suspense>
        )}
        {spaces.length > 0 && (
          <ul aria-label="Rooms to join">
            {joinable.map((space) => (
              <Joinable key={space.id} space={space} />
            ))}
          </ul>
        )}
        {!isNew && (
          <div className={p.actions}>
            <Button look={spaces.length ? undefined : "primary"} onClick={() => setMaking("room")}>
              <Plus size={15} aria-hidden /> New room
            </Button>
            <Button onClick={() => setMaking("direct")}>
              <SquarePen size={15} aria-hidden /> Write to somebody
            </Button>
          </div>
        )}
      </div>
      <NewRoom kind={making} onClose={() => setMaking(null)} />
    </main>
  );
}

function Joinable({ space }: { space: Space }) {
  const [busy, setBusy] = useState(false);
  const [, go] = useLocation();
  const join = async (): Promise<void> => {
    setBusy(true);
    if (await joinRoom(space.id)) go(`/rooms/${space.id}`);
    else setBusy(false);
  };
  return (
    <li>
      {space.private ? <Lock size={17} aria-label="private" /> : <Hash size={17} aria-hidden />}
      <span>
        <b>
          <bdi>{space.name}</bdi>
        </b>
        <small>{`${membersOf(space.memberDetails)} · ${wakeRule(space.wake.people, space.trigger)}`}</small>
      </span>
      <Button look="primary" busy={busy} aria-label={`Join ${space.name}`} onClick={() => void join()}>
        Join
      </Button>
    </li>
  );
}
