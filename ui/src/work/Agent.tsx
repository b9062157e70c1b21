import * as Ariakit from "@ariakit/react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { ArrowLeft } from "lucide-react";
import { useEffect } from "react";
import { Link, useLocation, useSearchParams } from "wouter";
import { api } from "../api/client";
import * as exact from "../api/exact";
import type { Agent as Noun } from "../api/nouns";
import { useLive } from "../live/store";
import { Button } from "../parts/Button";
import { AgentTag, Face } from "../parts/Face";
import { Failed, Notice, Skeleton } from "../parts/Notice";
import { write } from "../rooms/actions";
import { done, toast } from "../parts/toasts";
import { Instructions, Model, RunsOf } from "./AgentParts";
import { AgentPicture, RoomsOf } from "./AgentRooms";
import { PauseButton, StateOf } from "./Agents";
import { ToolsOf } from "./AgentTools";
import { Memory } from "./Memory";
import { Versions } from "./Versions";
import s from "./work.module.css";

const TABS = ["Instructions", "Rooms", "Model and limits", "Tools", "Memory", "Runs"];

export type SaveAgent = (body: Record<string, unknown>, undo: Record<string, unknown>) => Promise<boolean>;

export default function Agent({ id }: { id: string }) {
  const agent = useQuery({ queryKey: ["agent", id], queryFn: () => api.agent(id) });
  const queries = useQueryClient();
  const me = useLive((state) => state.me);
  const manages = me?.grants.includes("manage_agents") ?? false;
  const [, go] = useLocation();
  const [search, setSearch] = useSearchParams();
  const tab = search.get("tab") ?? "Instructions";
  useEffect(() => {
    document.title = `${agent.data?.name ?? "Agent"} · Bullpen`;
  }, [agent.data?.name]);

  const save: SaveAgent = async (body, undo) => {
    try {
      const changed = await api.updateAgent(id, body);
      queries.setQueryData<Noun>(["agent", id], changed);
      done("Saved", () => void save(undo, body));
      return true;
    } catch (error) {
      toast(error);
      return false;
    }
  };

  if (agent.isPending) return <main id="main" className={s.page}><Skeleton /></main>;
  if (agent.error) return <main id="main" className={s.page}><Failed error={agent.error} onRetry={() => void agent.refetch()} /></main>;
  const found = agent.data;
  const inside = found.instructions !== undefined && found.model !== undefined;
  return (
    <main className={s.page} id="main">
      <header className={s.head}>
        <Link href="/agents" aria-label="All agents" style={{ display: "grid", color: "var(--muted)" }}>
          <ArrowLeft size={18} aria-hidden />
        </Link>
        <Face id={id} name={found.name} kind="agent" />
        <h1 tabIndex={-1}>
          <bdi>{found.name}</bdi> <AgentTag />
        </h1>
        <StateOf agent={found} />
        <div className={s.push}>
          <PauseButton agent={found} />
          <Button look="primary" onClick={() => void write(me?.id ?? "", id, go)}>
            Talk to it
          </Button>
        </div>
      </header>
      {!inside ? (
        <div className={s.scroll}>
          <p>{found.description}</p>
          <Notice>Instructions, model and memory are shown to those who look after agents.</Notice>
          <RunsOf id={id} />
        </div>
      ) : (
        <Ariakit.TabProvider selectedId={tab} setSelectedId={(next) => next && setSearch({ tab: next }, { replace: true })}>
          <Ariakit.TabList className={s.tabs} aria-label="About this agent">
            {TABS.map((name) => (
              <Ariakit.Tab key={name} id={name}>
                {name}
              </Ariakit.Tab>
            ))}
          </Ariakit.TabList>
          <Ariakit.TabPanel className={s.scroll} tabId={tab} key={tab}>
            {tab === "Instructions" && manages && <AgentPicture agent={found} />}
            {tab === "Instructions" && <Instructions key={`${found.instructions}/${found.description}`} agent={found} manages={manages} save={save} />}
            {tab === "Instructions" && <Versions agent={found} manages={manages} save={save} />}
            {tab === "Rooms" && <RoomsOf agent={found} manages={manages} />}
            {tab === "Model and limits" && <Model key={exact.text([found.model, found.limits])} agent={found} manages={manages} save={save} />}
            {tab === "Tools" && <ToolsOf agent={found} manages={manages} save={save} />}
            {tab === "Memory" && <Memory agent={found} manages={manages} />}
            {tab === "Runs" && <RunsOf id={id} />}
          </Ariakit.TabPanel>
        </Ariakit.TabProvider>
      )}
    </main>
  );
}
