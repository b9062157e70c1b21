// What a block is for, how long it may be, and which agents it is shared with.
import { useState } from "react";
import { api } from "../api/client";
import type { Block } from "../api/nouns";
import { Button } from "../parts/Button";
import p from "../parts/parts.module.css";
import { toast } from "../parts/toasts";
import { useAgents } from "./data";
import type { Where } from "./MemoryBlocks";
import m from "./memory.module.css";
import s from "./work.module.css";

type Part = "no" | "reads" | "writes";

function partOf(block: Block, id: string): Part {
  if (block.shared?.writers?.includes(id)) return "writes";
  return block.shared?.readers?.includes(id) ? "reads" : "no";
}

export function MemoryOptions({ where, block, onSaved }: { where: Where; block: Block; onSaved(): void }) {
  const agents = useAgents().data?.items.filter((agent) => agent.id !== where.agentId) ?? [];
  const [about, setAbout] = useState(block.description);
  const [limit, setLimit] = useState(String(block.limit));
  const [parts, setParts] = useState<Record<string, Part>>({});
  const [busy, setBusy] = useState(false);
  const named = (part: Part): string[] => agents.map((agent) => agent.id).filter((id) => (parts[id] ?? partOf(block, id)) === part);
  const save = async (): Promise<void> => {
    const shared = where.place ? {} : { shared: { readers: named("reads"), writers: named("writes") } };
    setBusy(true);
    try {
      await api.putBlock(where.agentId, where.label, { content: block.content, description: about, limit: Number(limit), ...shared }, where.place);
      onSaved();
    } catch (error) {
      toast(error);
    }
    setBusy(false);
  };
  return (
    <form
      className={s.dialogform}
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <label className={p.field}>
        What it is for
        <input value={about} maxLength={500} onChange={(event) => setAbout(event.target.value)} />
        <span className={p.hint}>The agent reads this beside the block.</span>
      </label>
      <label className={p.field}>
        Most characters
        <input type="number" required min={Math.max(1, [...block.content].length)} max={262144} value={limit} onChange={(event) => setLimit(event.target.value)} />
        <span className={p.hint}>All of it is in each prompt, and costs tokens there.</span>
      </label>
      {!where.place && agents.length > 0 && (
        <fieldset className={m.sharing}>
          <legend>Other agents</legend>
          {agents.map((agent) => (
            <label key={agent.id}>
              <bdi>{agent.name}</bdi>
              <select aria-label={agent.name} value={parts[agent.id] ?? partOf(block, agent.id)} onChange={(event) => setParts({ ...parts, [agent.id]: event.target.value as Part })}>
                <option value="no">does not see it</option>
                <option value="reads">reads it</option>
                <option value="writes">reads and writes it</option>
              </select>
            </label>
          ))}
        </fieldset>
      )}
      <div className={p.actions}>
        <Button look="primary" type="submit" busy={busy}>
          Save
        </Button>
      </div>
    </form>
  );
}
