import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useLocation } from "wouter";
import { api } from "../api/client";
import { withAgent } from "../live/reduce";
import { change } from "../live/store";
import * as exact from "../api/exact";
import type { Agent } from "../api/nouns";
import { fieldOf, sentence } from "../api/problems";
import { Button } from "../parts/Button";
import { Dialog } from "../parts/Dialog";
import p from "../parts/parts.module.css";
import { modelWords } from "../words/en";
import s from "./work.module.css";

const LATER = "later";
const OTHER = "other";

/** Somebody new: a name, what they are for, how they behave, and what they run on. */
export function NewAgent({ agents, open, onClose }: { agents: readonly Agent[]; open: boolean; onClose(): void }) {
  return (
    <Dialog title="New agent" open={open} onClose={onClose}>
      <Form agents={agents} onClose={onClose} />
    </Dialog>
  );
}

/** What others run on, each once; scripts are written for one agent alone. */
function modelsOf(agents: readonly Agent[]): [string, unknown][] {
  const found = agents.map((agent) => agent.model).filter((model) => model && (model as { provider?: string }).provider !== "script");
  return [...new Map(found.map((model) => [exact.text(model), model]))];
}

function Form({ agents, onClose }: { agents: readonly Agent[]; onClose(): void }) {
  const models = modelsOf(agents);
  const [name, setName] = useState("");
  const [about, setAbout] = useState("");
  const [text, setText] = useState("");
  const [runsOn, setRunsOn] = useState(models[0]?.[0] ?? LATER);
  const [other, setOther] = useState("");
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const [, go] = useLocation();
  const queries = useQueryClient();

  const make = async (): Promise<void> => {
    setBusy(true);
    setError(null);
    const model = runsOn === LATER ? { provider: "script", turns: [] } : runsOn === OTHER ? other.trim() : models.find(([key]) => key === runsOn)?.[1];
    try {
      const made = await api.createAgent({ name: name.trim(), description: about.trim(), instructions: text, model });
      change((state) => withAgent(state, made)); // at once in every list, whatever events are on their way
      await queries.invalidateQueries({ queryKey: ["agents"] });
      onClose();
      go(`/agents/${made.id}${runsOn === LATER ? "?tab=Model+and+limits" : ""}`);
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  };
  const wrongName = fieldOf(error, "name");
  return (
    <form
      className={s.dialogform}
      onSubmit={(event) => {
        event.preventDefault();
        void make();
      }}
    >
      <label className={p.field}>
        Name
        <input value={name} onChange={(event) => setName(event.target.value)} required maxLength={80} autoFocus placeholder="Ada" aria-invalid={!!wrongName} />
      </label>
      <label className={p.field}>
        What it is for
        <input value={about} onChange={(event) => setAbout(event.target.value)} placeholder="Research; counts things." />
      </label>
      <label className={p.field}>
        Instructions
        <textarea value={text} onChange={(event) => setText(event.target.value)} rows={4} dir="auto" placeholder="How it behaves, and what it cares for." />
      </label>
      <label className={p.field}>
        It runs on
        <select value={runsOn} onChange={(event) => setRunsOn(event.target.value)}>
          {models.map(([key, model]) => (
            <option key={key} value={key}>
              {modelWords(model)}
            </option>
          ))}
          <option value={OTHER}>another model, by its name</option>
          <option value={LATER}>nothing yet: connect one next</option>
        </select>
      </label>
      {runsOn === OTHER && (
        <label className={p.field}>
          Model
          <input value={other} onChange={(event) => setOther(event.target.value)} required placeholder="provider:name, such as anthropic:claude-…" spellCheck={false} autoCapitalize="off" />
        </label>
      )}
      <p className={p.hint}>It begins with the tools to read and write messages. Others are given to it on its page, under Tools.</p>
      {error !== null && (
        <p className={p.problem} role="alert">
          {sentence(error)}
        </p>
      )}
      <div className={`${p.actions} ${p.end}`}>
        <Button onClick={onClose}>Cancel</Button>
        <Button look="primary" type="submit" busy={busy} disabled={!name.trim()}>
          Make agent
        </Button>
      </div>
    </form>
  );
}
