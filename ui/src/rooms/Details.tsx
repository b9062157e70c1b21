import { UserMinus, UserPlus } from "lucide-react";
import { lazy, Suspense, useEffect, useState } from "react";
import { Link, useLocation } from "wouter";
import { api } from "../api/client";
import { freshNames, loadSpaces } from "../live/load";
import { mute, useMuted } from "../live/muted";
import { withSpace } from "../live/reduce";
import { change, useLive } from "../live/store";
import { Button, IconButton } from "../parts/Button";
import { AgentTag, Face } from "../parts/Face";
import { usePanel } from "../parts/panel";
import p from "../parts/parts.module.css";
import { done, toast } from "../parts/toasts";
import { usePresence } from "./Message";
import { RoomSettings } from "./RoomSettings";
import { Pins } from "./Pins";
import { useCommands } from "./useCommands";
import { keepsRoom } from "./keeps";
import s from "./rooms.module.css";
import { Who } from "./Who";

const MemoryRoom = lazy(() => import("../work/MemoryRoom"));

const WORDS = { here: "here", busy: "working", waiting: "waits for an answer", paused: "paused" };

export function Details({ spaceId }: { spaceId: string }) {
  const space = useLive((state) => state.spaces[spaceId]);
  const me = useLive((state) => state.me?.id ?? "");
  const grants = useLive((state) => state.me?.grants) ?? [];
  const everybody = useLive((state) => state.members);
  const muted = !!useMuted()[spaceId];
  const [adding, setAdding] = useState("");
  useEffect(freshNames, []);
  const [, go] = useLocation();
  if (!space) return null;
  const reload = async (): Promise<void> => {
    const fresh = await api.space(space.id);
    change((state) => withSpace(state, fresh));
  };
  const others = Object.values(everybody).filter((each) => !space.members.includes(each.id));
  const isMember = space.members.includes(me);
  const mayRemove = (kind: string): boolean => (kind === "person" ? keepsRoom(space, me, grants) : isMember);
  const add = async (): Promise<void> => {
    try {
      await api.addMember(space.id, adding);
      setAdding("");
      await reload();
    } catch (error) {
      toast(error);
    }
  };
  const leave = async (): Promise<void> => {
    try {
      await api.removeMember(space.id, me);
      await loadSpaces();
      done(`You left #${space.name}`, space.private ? undefined : () => void api.addMember(space.id, me).then(() => loadSpaces(), toast));
      go("/");
    } catch (error) {
      toast(error);
    }
  };
  const rule = async (side: "people" | "agents", value: string): Promise<void> => {
    try {
      const changed = await api.updateSpace(space.id, { wake: { [side]: value } });
      change((state) => withSpace(state, changed));
    } catch (error) {
      toast(error);
    }
  };
  return (
    <div className={s.body}>
      <section className={s.section}>
        <h3>Members</h3>
        <ul className={s.people}>
          {space.memberDetails.map((member) => (
            <MemberLine key={member.id} id={member.id} name={member.name} kind={member.kind} onRemove={space.kind !== "dm" && mayRemove(member.kind) && member.id !== me ? () => void api.removeMember(space.id, member.id).then(reload).catch(toast) : undefined} />
          ))}
        </ul>
        {space.kind !== "dm" && isMember && others.length > 0 && (
          <form
            className={p.actions}
            onSubmit={(event) => {
              event.preventDefault();
              void add();
            }}
          >
            <select className={p.input} style={{ flex: 1, inlineSize: "auto" }} aria-label="Invite somebody" value={adding} onChange={(event) => setAdding(event.target.value)}>
              <option value="">Invite a person or an agent…</option>
              {others.map((each) => (
                <option key={each.id} value={each.id}>
                  {each.name} {each.kind === "agent" ? "(agent)" : ""}
                </option>
              ))}
            </select>
            <Button type="submit" disabled={!adding}>
              <UserPlus size={15} aria-hidden /> Add
            </Button>
          </form>
        )}
      </section>
      {space.kind !== "dm" && (
        <section className={s.section}>
          <h3>When do agents wake?</h3>
          {(["people", "agents"] as const).map((side) => (
            <label key={side} className={p.field}>
              {side === "people" ? "When people write" : "When agents write"}
              <select value={space.wake[side]} disabled={!isMember} onChange={(event) => void rule(side, event.target.value)}>
                <option value="all">for every message</option>
                <option value="mention">when mentioned</option>
                {space.trigger && <option value="trigger">for “{space.trigger}”</option>}
                <option value="none">never</option>
              </select>
            </label>
          ))}
        </section>
      )}
      <Pins spaceId={space.id} mayPin={isMember} />
      <Written spaceId={space.id} />
      <section className={s.section} aria-labelledby="room-memory">
        <h3 id="room-memory" tabIndex={-1}>
          What this room remembers
        </h3>
        <Suspense>
          <MemoryRoom spaceId={space.id} mayChange={isMember && !space.archivedAt} />
        </Suspense>
      </section>
      <RoomSettings space={space} />
      {isMember && (
        <section className={s.section}>
          <h3>Attention</h3>
          <label className={p.check}>
            <input type="checkbox" checked={muted} onChange={(event) => mute(space.id, event.target.checked)} />
            Mute on this device
          </label>
          <p className={p.hint}>No count and no notifications. Mentions of you are still marked in the list.</p>
        </section>
      )}
      {space.kind !== "dm" && isMember && (
        <section className={s.section}>
          <Button look="danger" onClick={() => void leave()}>
            Leave this room
          </Button>
        </section>
      )}
    </div>
  );
}

/** What can be written here with a slash, and what is scheduled here. */
function Written({ spaceId }: { spaceId: string }) {
  const commands = useCommands(spaceId, true);
  const skills = commands.filter((each) => each.kind === "skill");
  return (
    <section className={s.section}>
      <h3>Skills and tasks</h3>
      {skills.length ? (
        <ul className={s.commands}>
          {skills.map((each) => (
            <li key={each.name}>
              <code>/{each.name}</code> <span>{each.description}</span>
            </li>
          ))}
        </ul>
      ) : (
        <p className={p.hint}>No skills yet. Ask an agent to remember how something is done, and it becomes a command.</p>
      )}
      <Link href={`/tasks?spaceId=${encodeURIComponent(spaceId)}`}>What is scheduled here</Link>
    </section>
  );
}

function MemberLine({ id, name, kind, onRemove }: { id: string; name: string; kind: string; onRemove?(): void }) {
  const presence = usePresence(id);
  const [, setPanel] = usePanel();
  return (
    <li>
      <Face id={id} name={name} kind={kind} size="small" presence={presence} />
      <span>
        {kind === "agent" ? (
          <button type="button" onClick={() => setPanel("agent", id)}>
            <Who id={id} /> <AgentTag />
          </button>
        ) : (
          <Who id={id} />
        )}
      </span>
      {presence && <span className={s.meta}>{WORDS[presence]}</span>}
      {onRemove && (
        <IconButton label={`Remove ${name}`} mini onClick={onRemove}>
          <UserMinus size={15} />
        </IconButton>
      )}
    </li>
  );
}
