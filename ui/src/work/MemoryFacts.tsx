// Memories: what an agent knows under a key. All of them stand in its prompt.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Pencil, Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import type { Agent, Memory } from "../api/nouns";
import { Ago } from "../parts/Ago";
import { Button, IconButton } from "../parts/Button";
import { Dialog } from "../parts/Dialog";
import { Form } from "../parts/Form";
import { Failed, Skeleton } from "../parts/Notice";
import p from "../parts/parts.module.css";
import { done } from "../parts/toasts";
import { AskDelete, keepsForRooms, Marks, PlaceField, Section, short } from "./MemoryParts";
import m from "./memory.module.css";
import { recall } from "./recall";
import s from "./work.module.css";

type Props = { agent: Agent; manages: boolean };

export function MemoryFacts({ agent, manages }: Props) {
  const found = useQuery({ queryKey: ["memory", agent.id, "memories"], queryFn: () => recall.memories(agent.id) });
  const [adding, setAdding] = useState(false);
  const add = manages && (
    <Button aria-label="Add a memory" onClick={() => setAdding(true)}>
      <Plus size={15} aria-hidden /> Add
    </Button>
  );
  return (
    <Section id="memory-memories" title="Memories" hint="Facts under a key. They stand in its prompt." action={add}>
      {found.isPending && <Skeleton rows={1} />}
      {found.error && <Failed error={found.error} onRetry={() => void found.refetch()} />}
      {found.data && !found.data.items.length && <p className={m.none}>No memories yet. It writes them itself if its tools include mind, or you add one.</p>}
      <ul className={s.plain} aria-label="Memories">
        {found.data?.items.map((memory) => <FactLine key={`${memory.spaceId ?? ""}/${memory.key}`} agent={agent} memory={memory} manages={manages} />)}
      </ul>
      <FactDialog agent={agent} taken={found.data?.items ?? []} open={adding} onClose={() => setAdding(false)} />
    </Section>
  );
}

function FactLine({ agent, memory, manages }: Props & { memory: Memory }) {
  const [open, setOpen] = useState<"edit" | "delete" | null>(null);
  const close = (): void => setOpen(null);
  return (
    <li className={m.line}>
      <div className={m.beside}>
        <span className={m.words}>
          <b>
            <bdi>{memory.key}</bdi>:
          </b>{" "}
          <bdi>{memory.value}</bdi>
        </span>
        {manages && (
          <span className={m.tools}>
            <IconButton label={`Edit “${short(memory.key)}”`} mini onClick={() => setOpen("edit")}>
              <Pencil size={16} />
            </IconButton>
            <IconButton label={`Delete “${short(memory.key)}”`} mini onClick={() => setOpen("delete")}>
              <Trash2 size={16} />
            </IconButton>
          </span>
        )}
      </div>
      <div className={m.tags}>
        <small className={m.origin}>
          Changed <Ago at={memory.updatedAt} />
        </small>
        <Marks spaceId={memory.spaceId} outside={memory.outside} />
      </div>
      <FactDialog agent={agent} memory={memory} taken={[]} open={open === "edit"} onClose={close} />
      <AskDelete what="memory" text={`${memory.key}: ${memory.value}`} open={open === "delete"} section="memory-memories" onDelete={() => recall.deleteMemory(agent.id, memory.key, memory.spaceId ?? undefined)} onClose={close} />
    </li>
  );
}

type DialogProps = { agent: Agent; memory?: Memory; taken: Memory[]; open: boolean; onClose(): void };

function FactDialog(props: DialogProps) {
  return (
    <Dialog title={props.memory ? "Edit memory" : "Add a memory"} open={props.open} onClose={props.onClose}>
      <Fields {...props} />
    </Dialog>
  );
}

function Fields({ agent, memory, taken, onClose }: DialogProps) {
  const [key, setKey] = useState(memory?.key ?? "");
  const [value, setValue] = useState(memory?.value ?? "");
  const [place, setPlace] = useState(memory?.spaceId ?? undefined);
  const queries = useQueryClient();
  const same = taken.find((each) => each.key === key.trim() && (each.spaceId ?? undefined) === place);
  const save = async (): Promise<void> => {
    await recall.putMemory(agent.id, { key: memory ? key : key.trim(), value }, place);
    onClose();
    await queries.invalidateQueries({ queryKey: ["memory"] });
    done("Saved");
  };
  return (
    <Form verb={memory ? "Save" : "Add memory"} onSave={save} onCancel={onClose} disabled={!key.trim() || !value.trim()}>
      <label className={p.field}>
        Key
        <input required maxLength={200} readOnly={!!memory} dir="auto" placeholder="office hours" value={key} onChange={(event) => setKey(event.target.value)} />
      </label>
      <label className={p.field}>
        Value
        <textarea required rows={3} maxLength={4000} dir="auto" placeholder="nine to five" value={value} onChange={(event) => setValue(event.target.value)} />
      </label>
      {same && (
        <p className={p.hint} role="status">
          This key is there already: it says “{short(same.value, 80)}”. Adding writes over that.
        </p>
      )}
      {!memory && keepsForRooms(agent) && <PlaceField label="Counts in" agent={agent} place={place} onChange={setPlace} />}
    </Form>
  );
}
