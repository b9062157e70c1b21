// One task: what it does, the next times at which it is due, and each time it was.
import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { ArrowLeft, Pause, Play, Trash2, Zap } from "lucide-react";
import { useEffect, useState } from "react";
import { Link, useLocation } from "wouter";
import { api } from "../api/client";
import type { Firing, Task as TaskNoun } from "../api/nouns";
import { useLive } from "../live/store";
import { Ago, inZone } from "../parts/Ago";
import { Button } from "../parts/Button";
import { Dialog } from "../parts/Dialog";
import { Empty, Failed, Notice, Skeleton } from "../parts/Notice";
import p from "../parts/parts.module.css";
import { done, toast } from "../parts/toasts";
import { nameOf, titleOf } from "../rooms/names";
import { Who } from "../rooms/Who";
import { count, outcome, schedule, status as runWords, taskStatus } from "../words/en";
import { Fact } from "./Run";
import s from "./work.module.css";

export default function Task({ id }: { id: string }) {
  const task = useQuery({ queryKey: ["task", id], queryFn: () => api.task(id), retry: false });
  const state = useLive((all) => all);
  useEffect(() => {
    document.title = "Task · Bullpen";
  }, []);
  if (task.isPending) return <main id="main" className={s.page}><Skeleton /></main>;
  if (task.error) return <main id="main" className={s.page}><Failed error={task.error} onRetry={() => void task.refetch()} /></main>;
  const found = task.data;
  const chip = taskStatus[found.status] ?? { text: found.status };
  const space = state.spaces[found.spaceId];
  return (
    <main className={s.page} id="main">
      <header className={s.head}>
        <Link href="/tasks" aria-label="All tasks" style={{ display: "grid", color: "var(--muted)" }}>
          <ArrowLeft size={18} aria-hidden />
        </Link>
        <h1 tabIndex={-1}>
          Task · <Who id={found.agentId} />
          {space && ` in ${space.kind === "dm" ? titleOf(space, state) : `#${titleOf(space, state)}`}`}
        </h1>
        <span className={s.chip} data-tone={chip.tone} role="status">
          {chip.text}
        </span>
        <Buttons task={found} />
      </header>
      <dl className={s.facts}>
        <Fact name="Schedule" value={schedule(found.scheduleType, found.scheduleValue, (at) => at.replace("T", " "))} />
        <Fact name="Time zone" value={found.timezone} />
        <Fact name="Knows" value={found.contextMode === "group" ? "what was said in the room" : "nothing of before"} />
        <Fact name="If it was missed" value={{ once: "made up for once", all: "made up for each time", none: "left out" }[found.missed ?? "once"] ?? ""} />
        <Fact name="On behalf of" value={nameOf(state.members, found.onBehalfOf)} />
      </dl>
      <div className={s.scroll}>
        {found.reason && <Notice tone="warn">{found.reason}</Notice>}
        <p className={s.prompt} dir="auto">
          {found.prompt}
        </p>
        <h2 className={s.group}>Due next</h2>
        {found.nextRuns.length ? (
          <ol className={s.times} aria-label="Due next">
            {found.nextRuns.map((at) => (
              <li key={at}>
                <span>{inZone(at, found.timezone)}</span> <Ago at={at} comes />
              </li>
            ))}
          </ol>
        ) : (
          <p className={p.hint}>{found.status === "paused" ? "It is paused: not due until somebody resumes it." : "It is not due again."}</p>
        )}
        <Firings task={found} />
      </div>
    </main>
  );
}

function Buttons({ task }: { task: TaskNoun }) {
  const queries = useQueryClient();
  const [, go] = useLocation();
  const [cancelling, setCancelling] = useState(false);
  const act = async (work: () => Promise<unknown>, said: string): Promise<void> => {
    try {
      await work();
      done(said);
      await Promise.all(["task", "tasks", "firings"].map((name) => queries.invalidateQueries({ queryKey: [name] })));
    } catch (error) {
      toast(error);
    }
  };
  return (
    <div className={s.push}>
      {task.status !== "completed" && (
        <>
          <Button onClick={() => void act(() => api.runTask(task.id), "It begins now.")}>
            <Zap size={15} aria-hidden /> Run now
          </Button>
          {task.status === "active" ? (
            <Button onClick={() => void act(() => api.pauseTask(task.id), "It is not due until somebody resumes it.")}>
              <Pause size={15} aria-hidden /> Pause
            </Button>
          ) : (
            <Button onClick={() => void act(() => api.resumeTask(task.id), "It goes on with its next time.")}>
              <Play size={15} aria-hidden /> Resume
            </Button>
          )}
        </>
      )}
      <Button look="danger" onClick={() => setCancelling(true)}>
        <Trash2 size={15} aria-hidden /> Cancel task
      </Button>
      <Dialog title="Cancel this task?" open={cancelling} onClose={() => setCancelling(false)}>
        <p>It is not due again, and is forgotten together with the list of its times. Its runs and messages stay.</p>
        <div className={`${p.actions} ${p.end}`}>
          <Button onClick={() => setCancelling(false)}>Keep it</Button>
          <Button
            look="danger"
            onClick={() => {
              setCancelling(false);
              void act(() => api.cancelTask(task.id), "The task is cancelled.").then(() => go("/tasks"));
            }}
          >
            Cancel task
          </Button>
        </div>
      </Dialog>
    </div>
  );
}

function Firings({ task }: { task: TaskNoun }) {
  const firings = useInfiniteQuery({
    queryKey: ["firings", task.id],
    queryFn: ({ pageParam }) => api.firings(task.id, { limit: 30, cursor: pageParam }),
    initialPageParam: "",
    getNextPageParam: (page) => page.next,
  });
  const found = firings.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <>
      <h2 className={s.group}>What came of it</h2>
      {firings.isPending ? (
        <Skeleton rows={2} />
      ) : firings.error ? (
        <Failed error={firings.error} onRetry={() => void firings.refetch()} />
      ) : !found.length ? (
        <Empty title="It has not been due yet">
          <p>Each time it is, the time and its run are kept here.</p>
        </Empty>
      ) : (
        <ul className={s.list} aria-label="What came of it">
          {found.map((firing) => (
            <li key={firing.nominalAt + String(firing.manual)} className={s.firing}>
              <span>{inZone(firing.nominalAt, task.timezone)}</span>
              <span>
                {came(firing)}
                {firing.manual && " · by hand"}
                {(firing.missed ?? 0) > 0 && ` · stands for ${count(firing.missed ?? 0, "earlier time")}`}
                {firing.error && <small className={p.problem}>{firing.error}</small>}
                {firing.reason && <small>{firing.reason}</small>}
              </span>
              {firing.runId ? <Link href={`/runs/${firing.runId}`}>Its run</Link> : <span />}
            </li>
          ))}
        </ul>
      )}
      {firings.hasNextPage && (
        <Button busy={firings.isFetchingNextPage} onClick={() => void firings.fetchNextPage()}>
          Earlier times
        </Button>
      )}
    </>
  );
}

function came(firing: Firing): string {
  if (firing.outcome) return outcome[firing.outcome] ?? firing.outcome;
  if (firing.runStatus) return runWords[firing.runStatus] ?? firing.runStatus;
  return firing.status;
}
