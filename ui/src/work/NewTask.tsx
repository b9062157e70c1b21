import { useState } from "react";
import { useLocation } from "wouter";
import { api } from "../api/client";
import { fieldOf } from "../api/problems";
import { queries } from "../live/queries";
import { useLive } from "../live/store";
import { Dialog } from "../parts/Dialog";
import { Form } from "../parts/Form";
import p from "../parts/parts.module.css";
import { titleOf } from "../rooms/names";

const KINDS = {
  days: { name: "at a time of day", about: "In the time zone of the room." },
  interval: { name: "every so often", about: "As in 10m, 1h or 1d." },
  once: { name: "once", about: "In the time zone of the room." },
  cron: { name: "at times written as cron", about: "Minute, hour, day, month, weekday: 0 9 * * 1-5 is nine o'clock on working days." },
};
const EXAMPLES = { cron: "0 9 * * 1-5", interval: "30m", once: "" };
const WEEK = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
type Kind = keyof typeof KINDS;

export function NewTask({ open, spaceId, onClose }: { open: boolean; spaceId: string; onClose(): void }) {
  return (
    <Dialog title="New task" open={open} onClose={onClose}>
      <Fields spaceId={spaceId} onClose={onClose} />
    </Dialog>
  );
}

function Fields({ spaceId, onClose }: { spaceId: string; onClose(): void }) {
  const state = useLive((all) => all);
  const [, go] = useLocation();
  const withAgents = Object.values(state.spaces).filter((space) => space.memberDetails.some((member) => member.kind === "agent") && space.members.includes(state.me?.id ?? ""));
  const [room, setRoom] = useState(spaceId || (withAgents[0]?.id ?? ""));
  const agents = (state.spaces[room]?.memberDetails ?? []).filter((member) => member.kind === "agent");
  const [agent, setAgent] = useState("");
  const [prompt, setPrompt] = useState("");
  const [kind, setKind] = useState<Kind>("days");
  const [values, setValues] = useState(EXAMPLES);
  const [at, setAt] = useState({ time: "09:00", days: [1, 2, 3, 4, 5] });
  const [fresh, setFresh] = useState(false);
  const chosen = agents.find((each) => each.id === agent)?.id ?? agents[0]?.id ?? "";
  const value = kind === "days" ? cronOf(at) : values[kind].trim();
  const save = async (): Promise<void> => {
    const body = { spaceId: room, agentId: chosen, prompt: prompt.trim(), scheduleType: kind === "days" ? "cron" : kind, scheduleValue: value, contextMode: fresh ? "isolated" : "group" };
    const made = await api.createTask(body);
    await queries.invalidateQueries({ queryKey: ["tasks"] });
    onClose();
    go(`/tasks/${made.id}`);
  };
  const isShown = (problem: unknown): boolean => !!fieldOf(problem, "scheduleValue") || !!fieldOf(problem, "prompt");
  return (
    <Form verb="Schedule it" onSave={save} onCancel={onClose} cancel="Not now" disabled={!prompt.trim() || !value || !chosen} isShown={isShown}>
      {(problem) => (
        <>
          <label className={p.field}>
            Room
            <select value={room} required onChange={(event) => setRoom(event.target.value)}>
              {withAgents.map((space) => (
                <option key={space.id} value={space.id}>
                  {titleOf(space, state)}
                </option>
              ))}
            </select>
          </label>
          <label className={p.field}>
            Agent
            <select value={chosen} required onChange={(event) => setAgent(event.target.value)}>
              {agents.map((each) => (
                <option key={each.id} value={each.id}>
                  {each.name}
                </option>
              ))}
            </select>
          </label>
          <label className={p.field}>
            What to do
            <textarea value={prompt} required rows={3} dir="auto" onChange={(event) => setPrompt(event.target.value)} placeholder="Say good morning, and what is planned for today." />
            <Wrong text={fieldOf(problem, "prompt")} />
          </label>
          <label className={p.field}>
            When
            <select value={kind} onChange={(event) => setKind(event.target.value as Kind)}>
              {Object.entries(KINDS).map(([each, { name }]) => (
                <option key={each} value={each}>
                  {name}
                </option>
              ))}
            </select>
          </label>
          {kind === "days" ? (
            <Days at={at} onChange={setAt} />
          ) : (
            <label className={p.field}>
              {kind === "cron" ? "Times" : kind === "interval" ? "Every" : "Day and time"}
              <input type={kind === "once" ? "datetime-local" : "text"} value={values[kind]} required spellCheck={false} onChange={(event) => setValues({ ...values, [kind]: event.target.value })} />
              <span className={p.hint}>{KINDS[kind].about}</span>
            </label>
          )}
          <Wrong text={fieldOf(problem, "scheduleValue")} />
          <label className={p.check}>
            <input type="checkbox" checked={fresh} onChange={(event) => setFresh(event.target.checked)} />
            Begin afresh each time, without what was said in the room
          </label>
          {!withAgents.length && <p className={p.hint}>You are in no room with an agent. Invite one first.</p>}
        </>
      )}
    </Form>
  );
}

const Wrong = ({ text }: { text?: string }) => (text ? <p className={p.problem} role="alert">{text}</p> : null);

type At = { time: string; days: number[] };

/** Monday is 1, as cron counts. No day is no time. */
function cronOf({ time, days }: At): string {
  const [hour, minute] = time.split(":").map(Number);
  if (hour === undefined || minute === undefined || Number.isNaN(hour) || !days.length) return "";
  const written = days.map((day) => day % 7).join(",");
  return `${minute} ${hour} * * ${days.length === 7 ? "*" : written === "1,2,3,4,5" ? "1-5" : written}`;
}

function Days({ at, onChange }: { at: At; onChange(next: At): void }) {
  const toggle = (day: number): void => onChange({ ...at, days: at.days.includes(day) ? at.days.filter((each) => each !== day) : [...at.days, day].sort() });
  return (
    <>
      <label className={p.field}>
        Time
        <input type="time" value={at.time} required onChange={(event) => onChange({ ...at, time: event.target.value })} />
        <span className={p.hint}>{KINDS.days.about}</span>
      </label>
      <fieldset className={p.days}>
        <legend>On these days</legend>
        {WEEK.map((name, index) => (
          <label key={name} className={p.check}>
            <input type="checkbox" checked={at.days.includes(index + 1)} onChange={() => toggle(index + 1)} />
            {name}
          </label>
        ))}
      </fieldset>
    </>
  );
}
