// The rooms an agent is in, with a way in and out of each.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { api } from "../api/client";
import type { Agent, Space } from "../api/nouns";
import { withSpace } from "../live/reduce";
import { change, useLive } from "../live/store";
import { Button } from "../parts/Button";
import { Empty } from "../parts/Notice";
import p from "../parts/parts.module.css";
import { done, toast } from "../parts/toasts";
import { titleOf } from "../rooms/names";
import { wakeRuleShort } from "../words/en";
import { Picture } from "./Profile";
import s from "./work.module.css";

/** Those that whoever looks may see. */
export function roomsOf(spaces: Record<string, Space>, agentId: string): Space[] {
  return Object.values(spaces).filter((each) => each.members.includes(agentId) && !each.archivedAt);
}

export function RoomsOf({ agent, manages }: { agent: Agent; manages: boolean }) {
  const state = useLive((all) => all);
  const [adding, setAdding] = useState("");
  const me = state.me?.id ?? "";
  const rooms = roomsOf(state.spaces, agent.id);
  const others = Object.values(state.spaces).filter(
    (each) => each.kind !== "dm" && !each.archivedAt && !each.members.includes(agent.id) && (each.members.includes(me) || state.me?.grants.includes("owner")),
  );
  const move = async (space: Space, into: boolean): Promise<void> => {
    try {
      await (into ? api.addMember(space.id, agent.id) : api.removeMember(space.id, agent.id));
      const fresh = await api.space(space.id);
      change((all) => withSpace(all, fresh));
      setAdding("");
      done(`${agent.name} is ${into ? "in" : "out of"} #${space.name} now`, () => void move(fresh, !into));
    } catch (error) {
      toast(error);
    }
  };
  return (
    <div className={s.form}>
      {!rooms.length && <Empty title="It is in no room that you see" />}
      <ul className={s.plain} aria-label="Rooms">
        {rooms.map((space) => (
          <li key={space.id} className={s.line}>
            <span>
              <Link href={`/rooms/${space.id}`}>{space.kind === "dm" ? titleOf(space, state) : `#${space.name}`}</Link>
              <small>{space.kind === "dm" ? "direct messages" : wakeRuleShort(space.wake.people)}</small>
            </span>
            {space.kind !== "dm" && (manages || space.members.includes(me)) && (
              <Button onClick={() => void move(space, false)} aria-label={`Take out ${agent.name}: ${space.name}`}>
                Take out
              </Button>
            )}
          </li>
        ))}
      </ul>
      {others.length > 0 && (
        <form
          className={p.actions}
          onSubmit={(event) => {
            event.preventDefault();
            const space = state.spaces[adding];
            if (space) void move(space, true);
          }}
        >
          <select className={p.input} style={{ inlineSize: 260 }} aria-label="Add it to a room" value={adding} onChange={(event) => setAdding(event.target.value)}>
            <option value="">Add it to a room…</option>
            {others.map((space) => (
              <option key={space.id} value={space.id}>
                #{space.name}
              </option>
            ))}
          </select>
          <Button type="submit" disabled={!adding}>
            Add
          </Button>
        </form>
      )}
    </div>
  );
}

export function AgentPicture({ agent }: { agent: Agent }) {
  const queries = useQueryClient();
  const save = async (fileId: string | null): Promise<void> => {
    try {
      const changed = await api.updateAgent(agent.id, { avatar: fileId });
      queries.setQueryData(["agent", agent.id], changed);
      change((state) => {
        const known = state.members[agent.id];
        return known ? { ...state, members: { ...state.members, [agent.id]: { ...known, avatar: fileId } } } : state;
      });
      done("Saved");
    } catch (error) {
      toast(error);
    }
  };
  return (
    <section className={s.picture}>
      <Picture id={agent.id} name={agent.name} kind="agent" has={!!agent.avatar?.startsWith("fil_")} onSave={save} />
    </section>
  );
}
