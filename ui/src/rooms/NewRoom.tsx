import { useEffect, useState } from "react";
import { useLocation } from "wouter";
import { api } from "../api/client";
import { sentence } from "../api/problems";
import { freshNames } from "../live/load";
import { withSpace } from "../live/reduce";
import { change, useLive } from "../live/store";
import { Button } from "../parts/Button";
import { Dialog } from "../parts/Dialog";
import { AgentTag, Face } from "../parts/Face";
import { Form } from "../parts/Form";
import p from "../parts/parts.module.css";
import s from "./rooms.module.css";

/** Make a room with some people and agents, or write to one of them. */
export default function NewRoom({ kind, onClose }: { kind: "room" | "direct" | null; onClose(): void }) {
  useEffect(() => {
    if (kind) freshNames();
  }, [kind]);
  return (
    <Dialog title={kind === "direct" ? "Write to" : "New room"} open={kind !== null} onClose={onClose}>
      {kind === "direct" ? <Direct onClose={onClose} /> : <Channel onClose={onClose} />}
    </Dialog>
  );
}

function useMake(onClose: () => void) {
  const [, go] = useLocation();
  return async (body: object): Promise<void> => {
    const space = await api.createSpace(body);
    change((state) => withSpace(state, space));
    onClose();
    go(`/rooms/${space.id}`);
  };
}

function Direct({ onClose }: { onClose(): void }) {
  const me = useLive((state) => state.me?.id ?? "");
  const everybody = useLive((state) => state.members);
  const [wanted, setWanted] = useState("");
  const make = useMake(onClose);
  const [problem, setProblem] = useState("");
  const found = Object.values(everybody).filter((each) => each.id !== me && each.name.toLowerCase().includes(wanted.toLowerCase()));
  return (
    <>
      <input className={p.input} type="search" placeholder="Name of a person or an agent" aria-label="Name" value={wanted} onChange={(event) => setWanted(event.target.value)} autoFocus />
      <ul className={s.people}>
        {found.slice(0, 12).map((each) => (
          <li key={each.id}>
            <Face id={each.id} size="small" />
            <span>
              <bdi>{each.name}</bdi> {each.kind === "agent" && <AgentTag />}
            </span>
            <Button onClick={() => void make({ kind: "dm", members: [me, each.id] }).catch((error) => setProblem(sentence(error)))}>Write</Button>
          </li>
        ))}
      </ul>
      {problem && <p className={p.problem} role="alert">{problem}</p>}
    </>
  );
}

const KINDS = {
  channel: { name: "Room", about: "For the people of this office. What agents learn there, they know elsewhere too." },
  group: { name: "Group", about: "For a family, a team, the neighbours: only its members know of it, and what agents learn there stays there." },
};

function Channel({ onClose }: { onClose(): void }) {
  const me = useLive((state) => state.me?.id ?? "");
  const everybody = useLive((state) => state.members);
  const make = useMake(onClose);
  const [name, setName] = useState("");
  const [kind, setKind] = useState<keyof typeof KINDS>("channel");
  const [trigger, setTrigger] = useState("");
  const [isPrivate, setPrivate] = useState(false);
  const [wake, setWake] = useState("mention");
  const [chosen, setChosen] = useState<string[]>([]);
  const shared = { kind, name: name.trim(), members: chosen };
  const ofKind = kind === "channel" ? { private: isPrivate, wake: { people: wake, agents: "mention" } } : { private: true, ...(trigger.trim() ? { trigger: trigger.trim() } : {}) };
  const wanted = { ...shared, ...ofKind };
  return (
    <Form verb={kind === "channel" ? "Make room" : "Make group"} onSave={() => make(wanted)} onCancel={onClose} disabled={!name.trim()}>
      <label className={p.field}>
        Name
        <input value={name} onChange={(event) => setName(event.target.value)} required maxLength={80} autoFocus placeholder="launch-week" />
      </label>
      <fieldset className={s.kinds}>
        <legend className={p.hint}>What it is</legend>
        {(Object.keys(KINDS) as (keyof typeof KINDS)[]).map((each) => (
          <label key={each} className={p.check}>
            <input type="radio" name="kind" checked={kind === each} onChange={() => setKind(each)} />
            <span>
              <b>{KINDS[each].name}</b>
              <small>{KINDS[each].about}</small>
            </span>
          </label>
        ))}
      </fieldset>
      {kind === "channel" ? (
        <label className={p.field}>
          When do agents wake?
          <select value={wake} onChange={(event) => setWake(event.target.value)}>
            <option value="mention">When somebody mentions them</option>
            <option value="all">For every message of a person</option>
            <option value="none">Never: they only read along</option>
          </select>
        </label>
      ) : (
        <label className={p.field}>
          Trigger word
          <input value={trigger} onChange={(event) => setTrigger(event.target.value)} maxLength={80} placeholder="@Andy" aria-describedby="trigger-hint" />
          <span id="trigger-hint" className={p.hint}>
            What wakes the agents of the group. Without one, mentions do.
          </span>
        </label>
      )}
      <fieldset className={s.kinds}>
        <legend className={p.hint}>Who is in it</legend>
        {Object.values(everybody)
          .filter((each) => each.id !== me)
          .map((each) => (
            <label key={each.id} className={p.check}>
              <input type="checkbox" checked={chosen.includes(each.id)} onChange={(event) => setChosen(event.target.checked ? [...chosen, each.id] : chosen.filter((id) => id !== each.id))} />
              <bdi>{each.name}</bdi> {each.kind === "agent" && <AgentTag />}
            </label>
          ))}
      </fieldset>
      {kind === "channel" && (
        <label className={p.check}>
          <input type="checkbox" checked={isPrivate} onChange={(event) => setPrivate(event.target.checked)} />
          Private: only its members know of it
        </label>
      )}
    </Form>
  );
}
