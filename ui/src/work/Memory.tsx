// What an agent remembers. Each kind of memory is a section of its own, with a heading.
import { useState } from "react";
import type { Agent } from "../api/nouns";
import { useLive } from "../live/store";
import p from "../parts/parts.module.css";
import { titleOf } from "../rooms/names";
import { MemoryBlocks } from "./MemoryBlocks";
import m from "./memory.module.css";

export function Memory({ agent, manages }: { agent: Agent; manages: boolean }) {
  const [place, setPlace] = useState<string | undefined>(undefined);
  return (
    <div className={m.memory}>
      <Place agent={agent} place={place} onChange={setPlace} />
      <MemoryBlocks key={place ?? ""} agent={agent} manages={manages} place={place} />
    </div>
  );
}

/** What it learned in a private room may be kept for that room alone. */
function Place({ agent, place, onChange }: { agent: Agent; place: string | undefined; onChange(place: string | undefined): void }) {
  const state = useLive((all) => all);
  const rooms = Object.values(state.spaces).filter((space) => (space.private || space.kind !== "channel") && space.members.includes(agent.id));
  if (!rooms.length) return null;
  return (
    <label className={p.field} style={{ maxInlineSize: 320 }}>
      What it keeps for
      <select value={place ?? ""} onChange={(event) => onChange(event.target.value || undefined)}>
        <option value="">everywhere</option>
        {rooms.map((space) => (
          <option key={space.id} value={space.id}>
            {titleOf(space, state)}
          </option>
        ))}
      </select>
    </label>
  );
}
