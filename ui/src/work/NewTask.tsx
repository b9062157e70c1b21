import { useState } from "react";
import { useLocation } from "wouter";
import { api, Problem } from "../api/client";
import { sentence } from "../api/problems";
import { queries } from "../live/queries";
import { useLive } from "../live/store";
import { Button } from "../parts/Button";
import { Dialog } from "../parts/Dialog";
import p from "../parts/parts.module.css";
import { titleOf } from "../rooms/names";

const EXAMPLES = { cron: "0 9 * * 1-5", interval: "30m", once: "" };
const HINTS = {
  cron: "Minute, hour, day, month, weekday: 0 9 * * 1-5 is nine o'clock on working days.",
  interval: "As in 10m, 1h or 1d.",
  once: "In the time zone of the room.",
};
type Kind = keyof typeof EXAMPLES;

export function NewTask({ open, spaceId, onClose }: { open: boolean; spaceId: string; onClose(): void }) {
  return (
    <Dialog title="New task" open={open} onClose={onClose}>
      <Form spaceId={spaceId} onClose={onClose} />
    </Dialog>
  );
}

function Form({ spaceId, onClose }: { spaceId: string; onClose(): void }) {
  const state = useLive((all) => all);
  const [, go] = useLocation();
  const withAgents = Object.values(state.spaces).filter((space) => space.memberDetails.some((member) => member.kind === "agent") && space.members.includes(state.me?.id ?? ""));
  const [room, setRoom] = useState(spaceId || (withAgents[0]?.id ?? ""));
  const agents = (state.spaces[room]?.memberDetails ?? []).filter((member) => member.kind === "agent");
  const [agent, setAgent] = useState("");
  const [prompt, setPrompt] = useState("");
  const [kind, setKind] = useState<Kind>("cron");
  const [value, setValue] = useState(EXAMPLES.cron);
  const [fresh, setFresh] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const chosen = agents.find((each) => each.id === agent)?.id ?? agents[0]?.id ?? "";
  const submit = async (): Promise<void> => {
    setBusy(true);
    try {
      const body = { spaceId: room, agentId: chosen, prompt: prompt.trim(), scheduleType: kind, scheduleValue: value.trim(), contextMode: fresh ? "isolated" : "group" };
      const made = await api.createTask(body);
      await queries.invalidateQueries({ queryKey: ["tasks"] });
      onClose();
      go(`/tasks/${made.id}`);
    } catch (error) {
      setProblem(error);
    } finally {
      setBusy(false);
    }
  };
  const wrong = (field: string): string | undefined => (problem instanceof Problem ? problem.fields[field] : undefined);
  return (
    <form
      style={{ display: "grid", gap: 16 }}
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
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
        {wrong("prompt") && <span className={p.problem}>{wrong("prompt")}</span>}
      </label>
      <label className={p.field}>
        When
        <select
          value={kind}
          onChange={(event) => {
            setKind(event.target.value as Kind);
            setValue(EXAMPLES[event.target.value as Kind]);
          }}
        >
          <option value="cron">at certain times (cron)</option>
          <option value="interval">every so often</option>
          <option value="once">once</option>
        </select>
      </label>
      <label className={p.field}>
        {kind === "cron" ? "Times" : kind === "interval" ? "Every" : "Day and time"}
        <input type={kind === "once" ? "datetime-local" : "text"} value={value} required spellCheck={false} onChange={(event) => setValue(event.target.value)} />
        <span className={p.hint}>{HINTS[kind]}</span>
        {wrong("scheduleValue") && <span className={p.problem}>{wrong("scheduleValue")}</span>}
      </label>
      <label className={p.check}>
        <input type="checkbox" checked={fresh} onChange={(event) => setFresh(event.target.checked)} />
        Begin afresh each time, without what was said in the room
      </label>
      {problem !== null && <p className={p.problem} role="alert">{sentence(problem)}</p>}
      {!withAgents.length && <p className={p.hint}>You are in no room with an agent. Invite one first.</p>}
      <div className={`${p.actions} ${p.end}`}>
        <Button onClick={onClose}>Not now</Button>
        <Button look="primary" type="submit" busy={busy} disabled={!prompt.trim() || !value.trim() || !chosen}>
          Schedule it
        </Button>
      </div>
    </form>
  );
}
