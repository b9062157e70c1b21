// Goals: what an agent wants. They stand in its prompt, the ones that matter most first.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Pencil, Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import type { Agent, Goal } from "../api/nouns";
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

const STATUS = { active: "active", completed: "reached", abandoned: "given up" };
const TONES = { active: "live", completed: "ok", abandoned: undefined };

type Props = { agent: Agent; manages: boolean };

export function MemoryGoals({ agent, manages }: Props) {
  const goals = useQuery({ queryKey: ["memory", agent.id, "goals"], queryFn: () => recall.goals(agent.id) });
  const [adding, setAdding] = useState(false);
  const add = manages && (
    <Button aria-label="Add a goal" onClick={() => setAdding(true)}>
      <Plus size={15} aria-hidden /> Add
    </Button>
  );
  return (
    <Section id="memory-goals" title="Goals" hint="What it wants. They stand in its prompt." action={add}>
      {goals.isPending && <Skeleton rows={1} />}
      {goals.error && <Failed error={goals.error} onRetry={() => void goals.refetch()} />}
      {goals.data && !goals.data.items.length && <p className={m.none}>No goals yet. It sets them itself if its tools include mind, or you add one.</p>}
      <ul className={s.plain} aria-label="Goals">
        {goals.data?.items.map((goal) => <GoalLine key={`${goal.spaceId ?? ""}/${goal.id}`} agent={agent} goal={goal} manages={manages} />)}
      </ul>
      <GoalDialog agent={agent} open={adding} onClose={() => setAdding(false)} />
    </Section>
  );
}

function GoalLine({ agent, goal, manages }: Props & { goal: Goal }) {
  const [open, setOpen] = useState<"edit" | "delete" | null>(null);
  const close = (): void => setOpen(null);
  return (
    <li className={m.line}>
      <div className={m.beside}>
        <span className={m.words} dir="auto">
          {goal.description}
        </span>
        {manages && (
          <span className={m.tools}>
            <IconButton label={`Edit “${short(goal.description)}”`} mini onClick={() => setOpen("edit")}>
              <Pencil size={16} />
            </IconButton>
            <IconButton label={`Delete “${short(goal.description)}”`} mini onClick={() => setOpen("delete")}>
              <Trash2 size={16} />
            </IconButton>
          </span>
        )}
      </div>
      <div className={m.tags}>
        <span className={s.chip} data-tone={TONES[goal.status]}>
          {STATUS[goal.status]}
        </span>
        {goal.priority !== 0 && <span className={s.chip}>priority {goal.priority}</span>}
        <Marks spaceId={goal.spaceId} outside={goal.outside} />
      </div>
      <GoalDialog agent={agent} goal={goal} open={open === "edit"} onClose={close} />
      <AskDelete what="goal" text={goal.description} open={open === "delete"} section="memory-goals" onDelete={() => recall.deleteGoal(agent.id, goal.id, goal.spaceId ?? undefined)} onClose={close} />
    </li>
  );
}

type DialogProps = { agent: Agent; goal?: Goal; open: boolean; onClose(): void };

function GoalDialog(props: DialogProps) {
  return (
    <Dialog title={props.goal ? "Edit goal" : "Add a goal"} open={props.open} onClose={props.onClose}>
      <Fields {...props} />
    </Dialog>
  );
}

function Fields({ agent, goal, onClose }: DialogProps) {
  const [description, setDescription] = useState(goal?.description ?? "");
  const [status, setStatus] = useState<Goal["status"]>(goal?.status ?? "active");
  const [priority, setPriority] = useState(String(goal?.priority ?? 0));
  const [place, setPlace] = useState(goal?.spaceId ?? undefined);
  const queries = useQueryClient();
  const save = async (): Promise<void> => {
    await recall.putGoal(agent.id, { ...(goal ? { id: goal.id } : {}), description, status, priority: Number(priority) }, place);
    onClose();
    await queries.invalidateQueries({ queryKey: ["memory"] });
    done("Saved");
  };
  return (
    <Form verb={goal ? "Save" : "Add goal"} onSave={save} onCancel={onClose} disabled={!description.trim()}>
      <label className={p.field}>
        What it wants
        <textarea required rows={3} maxLength={2000} dir="auto" value={description} onChange={(event) => setDescription(event.target.value)} />
      </label>
      {goal && (
        <label className={p.field}>
          How it stands
          <select value={status} onChange={(event) => setStatus(event.target.value as Goal["status"])}>
            {Object.entries(STATUS).map(([each, name]) => (
              <option key={each} value={each}>
                {name}
              </option>
            ))}
          </select>
        </label>
      )}
      <label className={p.field}>
        Priority
        <input type="number" required min={-1000} max={1000} value={priority} onChange={(event) => setPriority(event.target.value)} />
        <span className={p.hint}>Higher ones come first.</span>
      </label>
      {!goal && keepsForRooms(agent) && <PlaceField label="Counts in" agent={agent} place={place} onChange={setPlace} />}
    </Form>
  );
}
