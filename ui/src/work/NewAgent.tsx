import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useLocation } from "wouter";
import { api } from "../api/client";
import { withAgent } from "../live/reduce";
import { change } from "../live/store";
import { fieldOf } from "../api/problems";
import { Dialog } from "../parts/Dialog";
import { Form } from "../parts/Form";
import { Skeleton } from "../parts/Notice";
import p from "../parts/parts.module.css";
import { isScript, useConnections } from "./connections";
import { isModel, ModelPicker } from "./ModelPicker";

/** Somebody new: a name, what they are for, how they behave, and what they run on. */
export function NewAgent({ open, onClose }: { open: boolean; onClose(): void }) {
  return (
    <Dialog title="New agent" open={open} onClose={onClose}>
      <Fields onClose={onClose} />
    </Dialog>
  );
}

const SILENT = { provider: "script", turns: [] };

function Fields({ onClose }: { onClose(): void }) {
  const connections = useConnections();
  const standard = connections.data?.items.find((each) => each.defaultModel);
  const first = standard ? { connection: standard.id, name: standard.defaultModel } : SILENT;
  const [name, setName] = useState("");
  const [about, setAbout] = useState("");
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState<unknown>(null);
  const model = chosen ?? first;
  const [, go] = useLocation();
  const queries = useQueryClient();

  const make = async (): Promise<void> => {
    const made = await api.createAgent({ name: name.trim(), description: about.trim(), instructions: text, model });
    change((state) => withAgent(state, made)); // at once in every list, whatever events are on their way
    await queries.invalidateQueries({ queryKey: ["agents"] });
    onClose();
    go(`/agents/${made.id}${isScript(model) ? "?tab=Model+and+limits" : ""}`);
  };
  return (
    <Form verb="Make agent" onSave={make} onCancel={onClose} disabled={!name.trim() || !isModel(model)}>
      {(problem) => (
        <>
          <label className={p.field}>
            Name
            <input value={name} onChange={(event) => setName(event.target.value)} required maxLength={80} autoFocus placeholder="Ada" aria-invalid={!!fieldOf(problem, "name")} />
          </label>
          <label className={p.field}>
            What it is for
            <input value={about} onChange={(event) => setAbout(event.target.value)} placeholder="Research; counts things." />
          </label>
          <label className={p.field}>
            Instructions
            <textarea value={text} onChange={(event) => setText(event.target.value)} rows={4} dir="auto" placeholder="How it behaves, and what it cares for." />
          </label>
          {connections.isPending ? <Skeleton rows={1} /> : <ModelPicker key={standard?.id} value={model} onChange={setChosen} />}
          <p className={p.hint}>It begins with the tools to read and write messages. Others are given to it on its page, under Tools.</p>
        </>
      )}
    </Form>
  );
}
