import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { Link } from "wouter";
import { api } from "../api/client";
import type { PendingCall } from "../api/nouns";
import { answerWords, callOfPending, CardView } from "../cards/CallCard";
import { useLive } from "../live/store";
import { Ago, dayOf } from "../parts/Ago";
import { RoomFilter, useFilters } from "../parts/filters";
import { Empty, Failed, Skeleton } from "../parts/Notice";
import { isSilenced } from "../parts/shortcuts";
import { titleOf } from "../rooms/names";
import { Who } from "../rooms/Who";
import { kind as kinds } from "../words/en";
import { usePending, useProposals } from "./data";
import { PageHead } from "./Head";
import { Proposals } from "./Proposals";
import s from "./work.module.css";

export default function Pending() {
  const pending = usePending();
  const answered = useQuery({ queryKey: ["pending", "answered"], queryFn: () => api.pending({ status: "resolved", limit: 20 }) });
  const proposals = useProposals();
  const { asked, set } = useFilters();
  const kind = asked("kind");
  const room = asked("room");
  const wanted = asked("call");
  useEffect(() => {
    document.title = "Waiting for you · Bullpen";
  }, []);
  useEffect(() => {
    if (!wanted || !pending.data) return;
    const card = document.getElementById(`waits-${wanted}`);
    card?.scrollIntoView({ block: "center" });
    card?.focus();
  }, [wanted, !!pending.data]);
  const fits = (call: PendingCall): boolean => (!kind || call.kind === kind) && (!room || call.spaceId === room);
  const all = pending.data?.all ?? [];
  const rooms = [...new Set(all.flatMap((call) => (call.spaceId ? [call.spaceId] : [])))];
  const mine = (pending.data?.needsMe ?? []).filter(fits);
  const others = (pending.data?.others ?? []).filter(fits);
  const proposed = (proposals.data ?? []).filter((skill) => !kind && (!room || skill.spaceId === room));
  const today = (answered.data?.items ?? []).filter((call) => fits(call) && dayOf(call.createdAt) === "Today");
  return (
    <main className={s.page} id="main">
      <PageHead title="Waiting for you" count={pending.data && pending.data.needsMe.length + proposed.length}>
        <select aria-label="Kind" value={kind} onChange={(event) => set("kind", event.target.value)}>
          <option value="">All kinds</option>
          <option value="approval">Approvals</option>
          <option value="space">Cards</option>
          <option value="variables">Values</option>
          <option value="external">Programs</option>
        </select>
        <RoomFilter value={room} only={rooms} onChange={(id) => set("room", id)} />
      </PageHead>
      <div className={s.scroll}>
        {pending.isPending ? (
          <Skeleton rows={3} />
        ) : pending.error ? (
          <Failed error={pending.error} onRetry={() => void pending.refetch()} />
        ) : (
          <div className={s.narrow}>
            {mine.length > 0 && <Group title="Needs you" calls={mine} />}
            {others.length > 0 && <Group title="Others may answer" calls={others} />}
            {proposed.length > 0 && (
              <>
                <h2 className={s.group}>Proposed skills</h2>
                <Proposals skills={proposed} />
              </>
            )}
            {!mine.length && !others.length && !proposed.length && (
              <Empty title="Nothing waits for you">
                <p>When an agent needs a yes, a choice or a value, it shows up here.</p>
              </Empty>
            )}
            {today.length > 0 && (
              <>
                <h2 className={s.group}>Answered today</h2>
                <ul className={s.list}>
                  {today.map((call) => (
                    <li key={call.callId} className={s.entry}>
                      <span className={s.where}>
                        <b>{call.toolName}</b> <Who id={call.agentId} /> · <Who id={call.answeredBy} />: {answerWords(call.result)}
                      </span>
                    </li>
                  ))}
                </ul>
              </>
            )}
          </div>
        )}
      </div>
    </main>
  );
}

function Group({ title, calls }: { title: string; calls: PendingCall[] }) {
  const state = useLive((all) => all);
  return (
    <>
      <h2 className={s.group}>{title}</h2>
      <ul
        className={s.list}
        onKeyDown={(event) => {
          if ((event.key !== "j" && event.key !== "k") || isSilenced(event.key)) return;
          if (event.target instanceof HTMLElement && event.target.closest("input, textarea, select")) return;
          const items = [...event.currentTarget.querySelectorAll<HTMLElement>("[data-waits]")];
          const at = items.findIndex((item) => item.contains(document.activeElement));
          items[Math.max(0, Math.min(items.length - 1, at + (event.key === "j" ? 1 : -1)))]?.focus();
        }}
      >
        {calls.map((call) => {
          const space = call.spaceId ? state.spaces[call.spaceId] : undefined;
          return (
            <li key={call.callId} id={`waits-${call.callId}`} className={s.entry} tabIndex={-1} data-waits>
              <span className={s.where}>
                <b><Who id={call.agentId} exact /></b> waits for {kinds[call.kind]}
                {space && (
                  <>
                    {" in "}
                    <Link href={`/rooms/${space.id}`}>{space.kind === "dm" ? titleOf(space, state) : `#${titleOf(space, state)}`}</Link>
                  </>
                )}
                · <Ago at={call.createdAt} /> · <Link href={`/runs/${call.runId}`}>its run</Link>
              </span>
              <CardView call={callOfPending(call)} />
            </li>
          );
        })}
      </ul>
    </>
  );
}
