// What an agent remembers. Each kind of memory is a section of its own, with a heading.
import { useState } from "react";
import type { Agent } from "../api/nouns";
import { MemoryBlocks } from "./MemoryBlocks";
import { MemoryFacts } from "./MemoryFacts";
import { MemoryGoals } from "./MemoryGoals";
import { PlaceField } from "./MemoryParts";
import { MemoryPassages } from "./MemoryPassages";
import { MemoryPlans } from "./MemoryPlans";
import m from "./memory.module.css";

export function Memory({ agent, manages }: { agent: Agent; manages: boolean }) {
  const [place, setPlace] = useState<string | undefined>(undefined);
  return (
    <div className={m.memory}>
      <PlaceField label="Blocks that it keeps for" agent={agent} place={place} onChange={setPlace} />
      <MemoryBlocks key={place ?? ""} agent={agent} manages={manages} place={place} />
      <MemoryGoals agent={agent} manages={manages} />
      <MemoryFacts agent={agent} manages={manages} />
      <MemoryPlans agent={agent} manages={manages} />
      <MemoryPassages agent={agent} manages={manages} />
    </div>
  );
}
