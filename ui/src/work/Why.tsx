// Why this message, and why not that agent.
import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { api } from "../api/client";
import type { WhyAgent } from "../api/nouns";
import { send } from "../live/outbox";
import { useLive } from "../live/store";
import { TextButton } from "../parts/Button";
import { AgentTag, Face } from "../parts/Face";
import { Empty, Failed, Skeleton } from "../parts/Notice";
import { usePanel } from "../parts/panel";
import { nameOf } from "../rooms/names";
import { Who } from "../rooms/Who";
import r from "../rooms/rooms.module.css";
import { between, money, outcome } from "../words/en";
import { MemoryShown } from "./MemoryShown";
import { Fact } from "./Run";
import { chipOf } from "./Runs";
import { Steps } from "./Steps";
import s from "./work.module.css";

/** For an agent's message: the run that wrote it. And for any message: whom it woke, and whom not. */
export function WhyPanel({ messageId }: { messageId: string }) {
  const message = useQuery({ queryKey: ["message", messageId], queryFn: () => api.message(messageId) });
  const why = useQuery({ queryKey: ["why", messageId], queryFn: () => api.why(messageId) });
  if (message.error) return <Failed error={message.error} />;
  if (message.isPending) return <Skeleton rows={4} />;
  const agents = why.data?.agents.filter((each) => each.agentId !== message.data.authorId) ?? [];
  return (
    <div className={r.body}>
      {message.data.runId && <RunPart runId={message.data.runId} />}
      <div className={r.section}>
        <h3>What <Who id={message.data.authorId} />’s message did</h3>
        {why.isPending && <Skeleton rows={2} />}
        {why.data && !agents.length && <p>There was no other agent in this room.</p>}
      </div>
      {agents.map((each) => (
        <WhyOne key={each.agentId} why={each} spaceId={message.data.spaceId} text={message.data.text} />
      ))}
    </div>
  );
}

function WhyOne({ why, spaceId }: { why: WhyAgent; spaceId: string; text: string }) {
  const [, setPanel] = usePanel();
  const { run } = why;
  return (
    <section className={s.why}>
      <header>
        <Face id={why.agentId} name={why.name} kind="agent" size="small" />
        <b>
          <bdi>{why.name}</bdi>
        </b>
        <span className={s.chip} data-tone={why.woken ? "live" : undefined}>
          {run?.outcome ? outcome[run.outcome] : why.woken ? "woken" : "not woken"}
        </span>
      </header>
      <p>{why.reason}</p>
      {run?.silenceReason && run.silenceReason !== "agent_chose_silence" && <p>Its reason: “{run.silenceReason}”</p>}
      {run?.blocks && <MemoryShown agentId={why.agentId} blocks={run.blocks} />}
      <span className={s.links}>
        {run && <TextButton onClick={() => setPanel("run", run.runId)}>Show its run</TextButton>}
        {why.code === "not_mentioned" && <TextButton onClick={() => send(spaceId, `@${why.name}`)} title={`Posts “@${why.name}” as you`}>Mention them now</TextButton>}
        {(why.code === "not_mentioned" || why.code === "policy") && <TextButton onClick={() => setPanel("details")}>Change the rule</TextButton>}
      </span>
    </section>
  );
}

export function RunPanel({ runId }: { runId: string }) {
  if (!runId) return <Empty title="This run is not known" />;
  return (
    <div className={r.body}>
      <RunPart runId={runId} />
    </div>
  );
}

function RunPart({ runId }: { runId: string }) {
  const run = useQuery({ queryKey: ["run", runId], queryFn: () => api.run(runId) });
  const members = useLive((state) => state.members);
  if (run.error) return <Failed error={run.error} />;
  if (run.isPending) return <Skeleton rows={4} />;
  const found = run.data;
  return (
    <>
      <dl className={s.facts}>
        <Fact name="Agent" value={nameOf(members, found.agentId)} />
        <Fact name="Outcome" value={chipOf(found).text} />
        <Fact name="Cost" value={money(found.usage.cost, found.usage.unpriced)} />
        <Fact name="Took" value={between(found.startedAt, found.finishedAt)} />
      </dl>
      <Steps run={found} brief />
      <p className={r.section}>
        <Link href={`/runs/${found.id}`}>Open the full run</Link>
      </p>
    </>
  );
}

export { AgentTag };
