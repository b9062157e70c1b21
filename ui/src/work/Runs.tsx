import { useInfiniteQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { Link } from "wouter";
import { api } from "../api/client";
import type { Run } from "../api/nouns";
import { useLive } from "../live/store";
import { Ago } from "../parts/Ago";
import { Button } from "../parts/Button";
import { Face } from "../parts/Face";
import { RoomFilter, useFilters } from "../parts/filters";
import { Empty, Failed, Skeleton } from "../parts/Notice";
import { nameOf, titleOf } from "../rooms/names";
import { between, money, outcome, status as statusWords, wokenBy } from "../words/en";
import { PageHead } from "./Head";
import s from "./work.module.css";

export function chipOf(run: Pick<Run, "status" | "outcome" | "pausedReason" | "retryAt">): { text: string; tone?: string } {
  if (run.status === "completed") return { text: outcome[run.outcome ?? ""] ?? "finished", tone: run.outcome === "spoke" || run.outcome === "acted" ? "ok" : undefined };
  if (run.status === "failed") return { text: "failed", tone: "bad" };
  if (run.status === "cancelled") return { text: "stopped", tone: "warn" };
  if (run.pausedReason) return { text: "put aside", tone: "warn" };
  if (run.retryAt) return { text: "waits for its model", tone: "warn" };
  if (run.status === "waiting") return { text: "waiting", tone: "warn" };
  return { text: statusWords[run.status] ?? run.status, tone: "live" };
}

export default function Runs() {
  const { asked, set, clear } = useFilters();
  const state = useLive((all) => all);
  const query = { agentId: asked("agentId"), spaceId: asked("spaceId"), status: asked("status") };
  const runs = useInfiniteQuery({
    queryKey: ["runs", query],
    queryFn: ({ pageParam }) => api.runs({ ...query, limit: 50, cursor: pageParam }),
    initialPageParam: "",
    getNextPageParam: (page) => page.next,
  });
  useEffect(() => {
    document.title = "Runs · Bullpen";
  }, []);
  const agents = Object.values(state.members).filter((member) => member.kind === "agent");
  const found = runs.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <main className={s.page} id="main">
      <PageHead title="Runs">
        <select aria-label="Agent" value={query.agentId} onChange={(event) => set("agentId", event.target.value)}>
          <option value="">All agents</option>
          {agents.map((agent) => (
            <option key={agent.id} value={agent.id}>
              {agent.name}
            </option>
          ))}
        </select>
        <RoomFilter value={query.spaceId} onChange={(id) => set("spaceId", id)} />
        <select aria-label="Status" value={query.status} onChange={(event) => set("status", event.target.value)}>
          <option value="">Any status</option>
          {["thinking", "acting", "waiting", "completed", "failed", "cancelled"].map((each) => (
            <option key={each} value={each}>
              {statusWords[each]}
            </option>
          ))}
        </select>
      </PageHead>
      <div className={s.scroll}>
        {runs.isPending ? (
          <Skeleton />
        ) : runs.error ? (
          <Failed error={runs.error} onRetry={() => void runs.refetch()} />
        ) : !found.length ? (
          <Empty title={query.agentId || query.spaceId || query.status ? "No runs match" : "No runs yet"}>
            <p>{query.agentId || query.spaceId || query.status ? "Change or clear the filters." : "Every time an agent wakes, what it read, thought and did is kept here."}</p>
            {(query.agentId || query.spaceId || query.status) && <Button onClick={clear}>Clear the filters</Button>}
          </Empty>
        ) : (
          <>
            {found.map((run) => {
              const chip = chipOf(run);
              const space = run.spaceId ? state.spaces[run.spaceId] : undefined;
              const by = wokenBy(run.trigger, (id) => nameOf(state.members, id));
              return (
                <Link key={run.id} href={`/runs/${run.id}`} className={s.row}>
                  <Ago at={run.startedAt} />
                  <span className={s.who}>
                    <Face id={run.agentId} size="small" /> <bdi>{nameOf(state.members, run.agentId)}</bdi>
                  </span>
                  <span>
                    woken by {by}
                    {space && ` in ${space.kind === "dm" ? "a direct conversation" : `#${titleOf(space, state)}`}`}
                  </span>
                  <span className={s.chip} data-tone={chip.tone}>
                    {chip.text}
                  </span>
                  <span className={s.num}>{money(run.usage.cost, run.usage.unpriced)}</span>
                  <span className={s.num}>{between(run.startedAt, run.finishedAt)}</span>
                </Link>
              );
            })}
            {runs.hasNextPage && (
              <p style={{ padding: 16 }}>
                <Button busy={runs.isFetchingNextPage} onClick={() => void runs.fetchNextPage()}>
                  Older runs
                </Button>
              </p>
            )}
          </>
        )}
      </div>
    </main>
  );
}
