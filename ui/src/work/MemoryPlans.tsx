// Plans: what an agent means to do, and when it is woken for that.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import type { Agent, Plan } from "../api/nouns";
import { useLive } from "../live/store";
import { Ago, inZone } from "../parts/Ago";
import { Button, IconButton } from "../parts/Button";
import { Dialog } from "../parts/Dialog";
import { Form } from "../parts/Form";
import { Failed, Skeleton } from "../parts/Notice";
import p from "../parts/parts.module.css";
import { done } from "../parts/toasts";
import { titleOf } from "../rooms/names";
import { Who } from "../rooms/Who";
import { roomsOf } from "./AgentRooms";
import { AskDelete, Marks, RoomLink, Section, short } from "./MemoryParts";
import m from "./memory.module.css";
import { recall } from "./recall";
import s from "./work.module.css";

const KINDS = {
  scheduledAt: { name: "once, at a time", label: "Day and time", hint: "By your own clock.", example: "" },
  runAfter: { name: "once, after a while", label: "After", hint: "A number and a unit: 20 minutes, 2 hours, 3 days.", example: "2 hours" },
  cron: { name: "again and again", label: "Times", hint: "Minute, hour, day, month, weekday: 0 9 * * 1-5 is nine o'clock on working days.", example: "0 9 * * 1-5" },
};
type Kind = keyof typeof KINDS;
type Props = { agent: Agent; manages: boolean };

export function MemoryPlans({ agent, manages }: Props) {
  const plans = useQuery({ queryKey: ["memory", agent.id, "plans"], queryFn: () => recall.plans(agent.id) });
  const [adding, setAdding] = useState(false);
  const add = manages && (
    <Button aria-label="Add a plan" onClick={() => setAdding(true)}>
      <Plus size={15} aria-hidden /> Add
    </Button>
  );
  return (
    <Section id="memory-plans" title="Plans" hint="What it will do, and when it wakes for that." action={add}>
      {plans.isPending && <Skeleton rows={1} />}
      {plans.error && <Failed error={plans.error} onRetry={() => void plans.refetch()} />}
      {plans.data && !plans.data.items.length && <p className={m.none}>No plans yet. It makes them itself if its tools include mind, or you add one.</p>}
      <ul className={s.plain} aria-label="Plans">
        {plans.data?.items.map((plan) => <PlanLine key={`${plan.spaceId ?? ""}/${plan.id}`} agent={agent} plan={plan} manages={manages} />)}
      </ul>
      <Dialog title="Add a plan" open={adding} onClose={() => setAdding(false)}>
        <Fields agent={agent} onClose={() => setAdding(false)} />
      </Dialog>
    </Section>
  );
}

function PlanLine({ agent, plan, manages }: Props & { plan: Plan }) {
  const [deleting, setDeleting] = useState(false);
  return (
    <li className={m.line}>
      <div className={m.beside}>
        <span className={m.words}>
          <b>
            <bdi>{plan.name}</bdi>
          </b>
          <span dir="auto">{plan.instruction}</span>
        </span>
        {manages && (
          <span className={m.tools}>
            <IconButton label={`Delete “${short(plan.name)}”`} mini onClick={() => setDeleting(true)}>
              <Trash2 size={16} />
            </IconButton>
          </span>
        )}
      </div>
      <div className={m.tags}>
        {plan.status === "paused" && (
          <span className={s.chip} data-tone="warn">
            paused{plan.reason ? `: ${plan.reason}` : ""}
          </span>
        )}
        <Marks spaceId={plan.stays ? plan.spaceId : null} outside={plan.outside} />
      </div>
      <When plan={plan} />
      <AskDelete
        what="plan"
        text={`${plan.name}: ${plan.instruction}`}
        note="It does not wake the agent any more."
        open={deleting}
        section="memory-plans"
        onDelete={() => recall.deletePlan(agent.id, plan.id, plan.stays ? (plan.spaceId ?? undefined) : undefined)}
        onClose={() => setDeleting(false)}
      />
    </li>
  );
}

function When({ plan }: { plan: Plan }) {
  return (
    <small className={m.origin}>
      {plan.nextRun ? (
        <>
          Next {inZone(plan.nextRun, plan.timezone)} ({plan.timezone}), <Ago at={plan.nextRun} comes />
        </>
      ) : (
        "No next time"
      )}
      {plan.cron && (
        <>
          , then again: <code>{plan.cron}</code>
        </>
      )}
      {plan.spaceId && (
        <>
          , in <RoomLink id={plan.spaceId} />
        </>
      )}
      , for <Who id={plan.onBehalfOf} />
      {plan.failures > 0 && `. Failed ${plan.failures} ${plan.failures === 1 ? "time" : "times"}`}
    </small>
  );
}

function Fields({ agent, onClose }: { agent: Agent; onClose(): void }) {
  const state = useLive((all) => all);
  const rooms = roomsOf(state.spaces, agent.id).filter((space) => space.members.includes(state.me?.id ?? ""));
  const roams = agent.scope === "agent";
  const [room, setRoom] = useState(roams ? "" : (rooms[0]?.id ?? ""));
  const [name, setName] = useState("");
  const [instruction, setInstruction] = useState("");
  const [kind, setKind] = useState<Kind>("scheduledAt");
  const [values, setValues] = useState<Record<Kind, string>>({ scheduledAt: "", runAfter: KINDS.runAfter.example, cron: KINDS.cron.example });
  const queries = useQueryClient();
  const value = kind === "scheduledAt" ? exactTime(values.scheduledAt) : values[kind].trim();
  const save = async (): Promise<void> => {
    await recall.putPlan(agent.id, { name: name.trim(), instruction: instruction.trim(), [kind]: value }, room || undefined);
    onClose();
    await queries.invalidateQueries({ queryKey: ["memory"] });
    done("Planned");
  };
  return (
    <Form verb="Add plan" onSave={save} onCancel={onClose} disabled={!name.trim() || !instruction.trim() || !value || (!room && !roams)}>
      <label className={p.field}>
        Name
        <input required maxLength={200} dir="auto" placeholder="morning greeting" value={name} onChange={(event) => setName(event.target.value)} />
      </label>
      <label className={p.field}>
        What to do then
        <textarea required rows={3} maxLength={4000} dir="auto" placeholder="Say good morning, and what is planned for today." value={instruction} onChange={(event) => setInstruction(event.target.value)} />
      </label>
      <label className={p.field}>
        When
        <select value={kind} onChange={(event) => setKind(event.target.value as Kind)}>
          {Object.entries(KINDS).map(([each, { name: said }]) => (
            <option key={each} value={each}>
              {said}
            </option>
          ))}
        </select>
      </label>
      <label className={p.field}>
        {KINDS[kind].label}
        <input type={kind === "scheduledAt" ? "datetime-local" : "text"} required spellCheck={false} value={values[kind]} onChange={(event) => setValues({ ...values, [kind]: event.target.value })} />
        <span className={p.hint}>{KINDS[kind].hint}</span>
      </label>
      <label className={p.field}>
        Room
        <select value={room} onChange={(event) => setRoom(event.target.value)}>
          {roams && <option value="">no room</option>}
          {rooms.map((space) => (
            <option key={space.id} value={space.id}>
              {titleOf(space, state)}
            </option>
          ))}
        </select>
        <span className={p.hint}>{rooms.length || roams ? "It works there, on your behalf." : "You share no room with it. Add it to one under Rooms first."}</span>
      </label>
    </Form>
  );
}

/** What a field for day and time says, with its zone. Nothing, as long as it is not a time. */
function exactTime(said: string): string {
  const at = new Date(said);
  return Number.isNaN(at.getTime()) ? "" : at.toISOString();
}
