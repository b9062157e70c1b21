import { useQueryClient } from "@tanstack/react-query";
import { Pause, Play, Plus } from "lucide-react";
import { useEffect, useState } from "react";
import { Link } from "wouter";
import { api } from "../api/client";
import type { Agent } from "../api/nouns";
import { useLive } from "../live/store";
import { Button } from "../parts/Button";
import { Face } from "../parts/Face";
import { Empty, Failed, Notice, Skeleton } from "../parts/Notice";
import { toast } from "../parts/toasts";
import { agentState, spentToday } from "../words/en";
import { roomsOf } from "./AgentRooms";
import { useAgents } from "./data";
import { PageHead } from "./Head";
import { NewAgent } from "./NewAgent";
import s from "./work.module.css";

export default function Agents() {
  const agents = useAgents();
  const manages = useLive((state) => state.me?.grants.includes("manage_agents") ?? false);
  const all = agents.data?.pausedAt;
  const [making, setMaking] = useState(false);
  useEffect(() => {
    document.title = "Agents · Bullpen";
  }, []);
  const toggle = async (): Promise<void> => {
    try {
      await (all ? api.resumeAll() : api.pauseAll());
      await agents.refetch();
    } catch (error) {
      toast(error);
    }
  };
  return (
    <main className={s.page} id="main">
      <PageHead title="Agents" count={agents.data?.items.length}>
        {manages && (
          <Button onClick={() => void toggle()}>
            {all ? <Play size={15} aria-hidden /> : <Pause size={15} aria-hidden />}
            {all ? "Let all go on" : "Pause all"}
          </Button>
        )}
        {manages && (
          <Button look="primary" onClick={() => setMaking(true)}>
            <Plus size={15} aria-hidden /> New agent
          </Button>
        )}
      </PageHead>
      <div className={s.scroll}>
        {all && <Notice tone="warn">All agents are paused. Messages are kept for when they go on.</Notice>}
        {agents.isPending ? (
          <Skeleton rows={4} />
        ) : agents.error ? (
          <Failed error={agents.error} onRetry={() => void agents.refetch()} />
        ) : !agents.data.items.length ? (
          <Empty title="No agents yet">
            <p>
              Make one here, describe one in a file and load it with <code>bullpen apply</code>, or start with the demo office.
            </p>
          </Empty>
        ) : (
          [...agents.data.items].sort((a, b) => a.name.localeCompare(b.name)).map((agent) => <Row key={agent.id} agent={agent} manages={manages} />)
        )}
      </div>
      <NewAgent open={making} onClose={() => setMaking(false)} />
    </main>
  );
}

function Row({ agent, manages }: { agent: Agent; manages: boolean }) {
  const cap = agent.limits?.maxCostPerDay ?? null;
  const spent = agent.costToday ?? 0;
  const spaces = useLive((state) => state.spaces);
  const rooms = roomsOf(spaces, agent.id).filter((each) => each.kind !== "dm");
  return (
    <div className={s.agent}>
      <Face id={agent.id} name={agent.name} kind="agent" />
      <span>
        <Link href={`/agents/${agent.id}`} style={{ color: "inherit", textDecoration: "none" }}>
          <b>
            <bdi>{agent.name}</bdi>
          </b>
        </Link>
        <small>{agent.description}</small>
        {rooms.length > 0 && <small>in {rooms.slice(0, 4).map((each) => `#${each.name}`).join(", ")}{rooms.length > 4 && ` and ${rooms.length - 4} more`}</small>}
      </span>
      <StateOf agent={agent} />
      <span>
        {cap === null ? spentToday(spent, agent.unpricedToday) : `$${spent.toFixed(2)} of $${cap}`}
        {cap !== null && (
          <span className={s.bar} data-near={spent > cap * 0.8 || undefined} style={{ display: "block" }}>
            <i style={{ inlineSize: `${Math.min(100, cap ? (spent / cap) * 100 : 100)}%` }} />
          </span>
        )}
      </span>
      {manages ? <PauseButton agent={agent} /> : <span />}
    </div>
  );
}

export function StateOf({ agent }: { agent: Agent }) {
  const state = agent.state ?? "idle";
  // It may wait for its model, and not for somebody.
  const away = useLive((all) => Object.values(all.runs).some((run) => run.agentId === agent.id && !run.finishedAt && !!run.retryAt));
  return (
    <span className={s.state}>
      <i data-state={state} aria-hidden />
      {agent.pausedReason ?? (away && state === "waiting" ? "waits for its model" : (agentState[state] ?? state))}
    </span>
  );
}

export function PauseButton({ agent }: { agent: Agent }) {
  const queries = useQueryClient();
  const manages = useLive((state) => state.me?.grants.includes("manage_agents") ?? false);
  if (!manages) return null;
  const paused = !!agent.pausedAt || !!agent.pausedReason;
  const toggle = async (): Promise<void> => {
    try {
      await (paused ? api.resumeAgent(agent.id) : api.pauseAgent(agent.id));
      await Promise.all([queries.invalidateQueries({ queryKey: ["agents"] }), queries.invalidateQueries({ queryKey: ["agent"] })]);
    } catch (error) {
      toast(error);
    }
  };
  return (
    <Button onClick={() => void toggle()} aria-label={`${paused ? "Resume" : "Pause"} ${agent.name}`}>
      {paused ? <Play size={15} aria-hidden /> : <Pause size={15} aria-hidden />}
      {paused ? "Resume" : "Pause"}
    </Button>
  );
}
