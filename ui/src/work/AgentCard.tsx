import { useQuery } from "@tanstack/react-query";
import { Link, useLocation } from "wouter";
import { api } from "../api/client";
import { useLive } from "../live/store";
import { Button } from "../parts/Button";
import { AgentTag, Face } from "../parts/Face";
import { Failed, Skeleton } from "../parts/Notice";
import { write } from "../rooms/actions";
import r from "../rooms/rooms.module.css";
import { StopButton, useRunOf } from "../rooms/Stop";
import { spentToday } from "../words/en";
import { PauseButton, StateOf } from "./Agents";
import s from "./work.module.css";

/** An agent in short: who it is, what it does, talk to it, pause it. */
export function AgentCard({ id }: { id: string }) {
  const agent = useQuery({ queryKey: ["agent", id], queryFn: () => api.agent(id) });
  const me = useLive((state) => state.me);
  const [, go] = useLocation();
  const runId = useRunOf(id);
  if (agent.error) return <Failed error={agent.error} />;
  if (agent.isPending) return <Skeleton rows={2} />;
  const found = agent.data;
  return (
    <div className={r.body}>
      <div className={r.section}>
        <span className={s.who}>
          <Face id={id} name={found.name} kind="agent" size="large" />
          <span>
            <b>{found.name}</b> <AgentTag />
            <StateOf agent={found} />
          </span>
        </span>
        <p>{found.description}</p>
        <p className={r.meta}>{spentToday(found.costToday, found.unpricedToday)}</p>
        <span className={s.links}>
          <Button look="primary" onClick={() => void write(me?.id ?? "", id, go)}>
            Talk to it
          </Button>
          {runId && <StopButton agentId={id} runId={runId} />}
          <PauseButton agent={found} />
        </span>
        <Link href={`/agents/${id}`}>Instructions, model, tools and memory</Link>
      </div>
    </div>
  );
}
