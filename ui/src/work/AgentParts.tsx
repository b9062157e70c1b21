import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { api } from "../api/client";
import * as exact from "../api/exact";
import type { Agent } from "../api/nouns";
import { useLive } from "../live/store";
import { Ago } from "../parts/Ago";
import { Button } from "../parts/Button";
import { Dialog } from "../parts/Dialog";
import { Empty, Failed, Notice, Skeleton } from "../parts/Notice";
import p from "../parts/parts.module.css";
import { placeOf } from "../rooms/names";
import { between, money } from "../words/en";
import ConnectModel from "../start/ConnectModel";
import type { SaveAgent } from "./Agent";
import { runsOnWords, useConnections } from "./connections";
import { isModel, ModelPicker } from "./ModelPicker";
import { chipOf } from "./Runs";
import s from "./work.module.css";

type Props = { agent: Agent; manages: boolean; save: SaveAgent };

export function Instructions({ agent, manages, save }: Props) {
  const [text, setText] = useState(agent.instructions ?? "");
  const [about, setAbout] = useState(agent.description ?? "");
  const before = { instructions: agent.instructions ?? "", description: agent.description ?? "" };
  const changed = text !== before.instructions || about !== before.description;
  return (
    <form
      className={s.form}
      onSubmit={(event) => {
        event.preventDefault();
        void save({ instructions: text, description: about }, before);
      }}
    >
      <label className={p.field}>
        What it is for
        <input value={about} readOnly={!manages} onChange={(event) => setAbout(event.target.value)} />
      </label>
      <label className={p.field}>
        Instructions
        <textarea data-tall value={text} readOnly={!manages} onChange={(event) => setText(event.target.value)} dir="auto" />
        <span className={p.hint}>They count from its next run on.</span>
      </label>
      {manages && (
        <div className={p.actions}>
          <Button look="primary" type="submit" disabled={!changed}>
            Save
          </Button>
          {changed && <Button look="quiet" onClick={() => (setText(before.instructions), setAbout(before.description))}>Discard</Button>}
        </div>
      )}
    </form>
  );
}

const LIMITS = [
  ["maxSteps", "Steps in a run"],
  ["maxMessages", "Messages in a run"],
  ["maxSeconds", "Seconds in a run"],
  ["maxCostPerDay", "Dollars a day (empty: no limit)"],
] as const;

export function Model({ agent, manages, save }: Props) {
  const connections = useConnections();
  const [model, setModel] = useState<unknown>(agent.model);
  const [connecting, setConnecting] = useState(false);
  const changed = exact.text(model) !== exact.text(agent.model);
  const [limits, setLimits] = useState<Record<string, string>>(() => Object.fromEntries(LIMITS.map(([key]) => [key, String(agent.limits?.[key] ?? "")])));
  const body = { ...agent.limits, ...Object.fromEntries(LIMITS.map(([key]) => [key, limits[key] === "" ? null : Number(limits[key])])) };
  return (
    <div className={s.form}>
      <Notice>
        It runs on <b>{runsOnWords(agent.model, connections.data?.items ?? [])}</b>.
      </Notice>
      {manages && (
        <form
          className={s.form}
          aria-label="Model"
          onSubmit={(event) => {
            event.preventDefault();
            void save({ model }, { model: agent.model });
          }}
        >
          {connections.isPending ? <Skeleton rows={1} /> : <ModelPicker value={model} onChange={setModel} script={agent.script} />}
          <div className={p.actions}>
            <Button look="primary" type="submit" disabled={!changed || !isModel(model)}>
              Save model
            </Button>
            <Button onClick={() => setConnecting(true)}>Connect a model</Button>
          </div>
        </form>
      )}
      <Dialog title="Connect a model" open={connecting} onClose={() => setConnecting(false)}>
        <ConnectModel agentIds={[agent.id]} onDone={() => setConnecting(false)} />
      </Dialog>
      <form
        className={s.form}
        onSubmit={(event) => {
          event.preventDefault();
          void save({ limits: body }, { limits: agent.limits ?? {} });
        }}
      >
        {LIMITS.map(([key, label]) => (
          <label key={key} className={p.field}>
            {label}
            <input type="number" min={0} step="any" required={key !== "maxCostPerDay"} readOnly={!manages} value={limits[key]} onChange={(event) => setLimits({ ...limits, [key]: event.target.value })} />
          </label>
        ))}
        {manages && (
          <div className={p.actions}>
            <Button look="primary" type="submit">
              Save limits
            </Button>
          </div>
        )}
      </form>
    </div>
  );
}

const whyEnded = ({ silenceReason, error }: { silenceReason?: string | null; error?: string | null }): string =>
  error ?? (silenceReason && silenceReason !== "agent_chose_silence" ? `“${silenceReason}”` : "");

export function RunsOf({ id }: { id: string }) {
  const runs = useQuery({ queryKey: ["runs", { agentId: id }], queryFn: () => api.runs({ agentId: id, limit: 30 }) });
  const state = useLive((all) => all);
  if (runs.isPending) return <Skeleton rows={4} />;
  if (runs.error) return <Failed error={runs.error} />;
  if (!runs.data.items.length) return <Empty title="It has not run yet" />;
  return (
    <>
      {runs.data.items.map((run) => (
        <Link key={run.id} href={`/runs/${run.id}`} className={s.row}>
          <Ago at={run.startedAt} />
          <span>{placeOf(run.spaceId, state)}</span>
          <span>{whyEnded(run)}</span>
          <span className={s.chip} data-tone={chipOf(run).tone}>
            {chipOf(run).text}
          </span>
          <span className={s.num}>{money(run.usage.cost, run.usage.unpriced)}</span>
          <span className={s.num}>{between(run.startedAt, run.finishedAt)}</span>
        </Link>
      ))}
    </>
  );
}
