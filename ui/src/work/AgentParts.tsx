import { useQuery, useQueryClient } from "@tanstack/react-query";
import { X } from "lucide-react";
import { useState } from "react";
import { Link } from "wouter";
import { api } from "../api/client";
import * as exact from "../api/exact";
import type { Agent, Decision } from "../api/nouns";
import { useLive } from "../live/store";
import { Ago } from "../parts/Ago";
import { Button, IconButton } from "../parts/Button";
import { Dialog } from "../parts/Dialog";
import { Empty, Failed, Notice, Skeleton } from "../parts/Notice";
import p from "../parts/parts.module.css";
import { toast } from "../parts/toasts";
import { titleOf } from "../rooms/names";
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
          <Button look="primary" type="submit">
            Save limits
          </Button>
        )}
      </form>
    </div>
  );
}

export function ToolsOf({ agent, manages, save }: Props) {
  const tools = useQuery({ queryKey: ["tools"], queryFn: () => api.tools() });
  const policies = useQuery({ queryKey: ["policies", agent.id], queryFn: () => api.policies(agent.id) });
  const queries = useQueryClient();
  const state = useLive((all) => all);
  if (tools.isPending) return <Skeleton rows={4} />;
  if (tools.error) return <Failed error={tools.error} />;
  const own = new Set(agent.tools);
  const others = tools.data.items.filter((tool) => !own.has(tool.name));
  const change = (next: string[]): void => void save({ tools: next }, { tools: agent.tools });
  const refresh = (): void => void queries.invalidateQueries({ queryKey: ["policies", agent.id] });
  const set = async (toolName: string, decision: Decision): Promise<void> => {
    try {
      await api.putPolicy({ agentId: agent.id, toolName, decision });
      refresh();
    } catch (error) {
      toast(error);
    }
  };
  return (
    <div className={s.narrow}>
      {[...own].map((name) => {
        const tool = tools.data.items.find((each) => each.name === name);
        const mine = policies.data?.items.filter((each) => each.toolName === name) ?? [];
        const everywhere = mine.find((each) => !each.spaceId && !each.when && !each.source);
        const decision = everywhere?.decision ?? agent.policy?.[name] ?? tool?.policy ?? "allow";
        return (
          <div key={name} className={s.tool}>
            <span>
              <code>{name}</code>
              <small>{tool?.description?.split("\n")[0] ?? "a family of tools"}</small>
              {mine
                .filter((each) => each.spaceId || each.source)
                .map((each) => (
                  <small key={each.id}>
                    {each.decision}
                    {each.spaceId && ` in ${state.spaces[each.spaceId] ? titleOf(state.spaces[each.spaceId]!, state) : each.spaceId}`}
                    {each.source && ` for text from ${each.source}`}{" "}
                    {manages && (
                      <button type="button" className={p.link} onClick={() => void api.deletePolicy(each.id).then(refresh, toast)}>
                        Undo
                      </button>
                    )}
                  </small>
                ))}
            </span>
            <span className={s.chip}>{tool?.executionType ?? "built in"}</span>
            <select className={s.inline} aria-label={`May it use ${name}?`} value={decision} disabled={!manages} onChange={(event) => void set(name, event.target.value as Decision)}>
              <option value="allow">allow</option>
              <option value="ask">ask</option>
              <option value="deny">deny</option>
            </select>
            {manages && (
              <IconButton label={`Take ${name} away`} mini onClick={() => change(agent.tools.filter((each) => each !== name))}>
                <X size={16} />
              </IconButton>
            )}
          </div>
        );
      })}
      {!own.size && <Empty title="It has no tools" />}
      {manages && others.length > 0 && (
        <select className={s.add} aria-label="Give it a tool" value="" onChange={(event) => change([...agent.tools, event.target.value])}>
          <option value="">Give it a tool…</option>
          {others.map((tool) => (
            <option key={tool.name} value={tool.name}>
              {tool.name}
            </option>
          ))}
        </select>
      )}
    </div>
  );
}

export function RunsOf({ id }: { id: string }) {
  const runs = useQuery({ queryKey: ["runs", { agentId: id }], queryFn: () => api.runs({ agentId: id, limit: 30 }) });
  if (runs.isPending) return <Skeleton rows={4} />;
  if (runs.error) return <Failed error={runs.error} />;
  if (!runs.data.items.length) return <Empty title="It has not run yet" />;
  return (
    <>
      {runs.data.items.map((run) => (
        <Link key={run.id} href={`/runs/${run.id}`} className={s.row}>
          <Ago at={run.startedAt} />
          <span>{run.spaceId ?? "no room"}</span>
          <span>{run.silenceReason ?? run.error ?? ""}</span>
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
