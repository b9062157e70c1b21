// What a room remembers for all its agents, in its details.
import { AddPassage, PassageList, type Owner } from "./MemoryPassages";
import m from "./memory.module.css";

export default function MemoryRoom({ spaceId, mayChange }: { spaceId: string; mayChange: boolean }) {
  const owner: Owner = { of: "spaces", id: spaceId };
  return (
    <div className={m.section}>
      <PassageList owner={owner} mayChange={mayChange} section="room-memory" limit={5} empty="Nothing yet. What is added here, every agent of this room can find." />
      {mayChange && (
        <div>
          <AddPassage owner={owner} />
        </div>
      )}
    </div>
  );
}
