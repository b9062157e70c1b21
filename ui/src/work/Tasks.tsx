// What agents do by the clock: when each is due next, and what came of the times before.
import { useInfiniteQuery } from "@tanstack/react-query";
import { CalendarClock, Plus } from "lucide-react";
import { useEffect, useState } from "react";
import { Link } from "wouter";
import { api } from "../api/client";
import type { Task } from "../api/nouns";
import { useLive } from "../live/store";
import { Ago, inZone } from "../parts/Ago";
import { Button } from "../parts/Button";
import { RoomFilter, useFilters } from "../parts/filters";
import { Empty, Failed, Skeleton } from "../parts/Notice";
import { titleOf } from "../rooms/names";
import { Who } from "../rooms/Who";
import { schedule, taskStatus } from "../words/en";
import { PageHead } from "./Head";
import { NewTask } from "./NewTask";
import s from "./work.module.css";

export default function Tasks() {
  const { asked, set, clear } = useFilters();
  const [making, setMaking] = useState(false);
  const query = { spaceId: asked("spaceId"), status: asked("status") };
  const tasks = useInfiniteQuery({
    queryKey: ["tasks", query],
    queryFn: ({ pageParam }) => api.tasks({ ...query, limit: 50, cursor: pageParam }),
    initialPageParam: "",
    getNextPageParam: (page) => page.next,
  });
  useEffect(() => {
    document.title = "Tasks · Bullpen";
  }, []);
  const found = tasks.data?.pages.flatMap((page) => page.items) ?? [];
  const filtered = !!(query.spaceId || query.status);
  return (
    <main className={s.page} id="main">
      <PageHead title="Tasks">
        <RoomFilter value={query.spaceId} onChange={(id) => set("spaceId", id)} />
        <select aria-label="Status" value={query.status} onChange={(event) => set("status", event.target.value)}>
          <option value="">Any status</option>
          {Object.entries(taskStatus).map(([status, { text }]) => (
            <option key={status} value={status}>
              {text}
            </option>
          ))}
        </select>
        <Button look="primary" onClick={() => setMaking(true)}>
          <Plus size={15} aria-hidden /> New task
        </Button>
      </PageHead>
      <div className={s.scroll}>
        {tasks.isPending ? (
          <Skeleton />
        ) : tasks.error ? (
          <Failed error={tasks.error} onRetry={() => void tasks.refetch()} />
        ) : !found.length ? (
          <Empty title={filtered ? "No tasks match" : "Nothing is scheduled"}>
            <p>{filtered ? "Change or clear the filters." : "Have an agent do something every morning, every ten minutes, or once on a certain day. Agents can schedule tasks for themselves, too: just ask one."}</p>
            {filtered ? <Button onClick={() => clear()}>Clear the filters</Button> : <Button onClick={() => setMaking(true)}>New task</Button>}
          </Empty>
        ) : (
          <>
            {found.map((task) => (
              <Row key={task.id} task={task} />
            ))}
            {tasks.hasNextPage && (
              <p style={{ padding: 16 }}>
                <Button busy={tasks.isFetchingNextPage} onClick={() => void tasks.fetchNextPage()}>
                  Older tasks
                </Button>
              </p>
            )}
          </>
        )}
      </div>
      <NewTask open={making} spaceId={query.spaceId} onClose={() => setMaking(false)} />
    </main>
  );
}

function Row({ task }: { task: Task }) {
  const state = useLive((all) => all);
  const space = state.spaces[task.spaceId];
  const chip = taskStatus[task.status] ?? { text: task.status };
  return (
    <Link href={`/tasks/${task.id}`} className={s.task}>
      <CalendarClock size={16} aria-hidden />
      <span>
        <b>
          <bdi>{task.prompt}</bdi>
        </b>
        <small>
          <Who id={task.agentId} />
          {space && ` in ${space.kind === "dm" ? titleOf(space, state) : `#${titleOf(space, state)}`}`} · {schedule(task.scheduleType, task.scheduleValue, (at) => at.replace("T", " "))}
        </small>
      </span>
      <span>
        {task.nextRun ? (
          <>
            <Ago at={task.nextRun} comes />
            <small>{inZone(task.nextRun, task.timezone)}</small>
          </>
        ) : (
          <small>{task.reason ?? "not due again"}</small>
        )}
      </span>
      <span className={s.chip} data-tone={chip.tone}>
        {chip.text}
      </span>
    </Link>
  );
}
