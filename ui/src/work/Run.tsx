import { useQuery } from "@tanstack/react-query";
import { ArrowLeft, Square } from "lucide-react";
import { useEffect } from "react";
import { Link } from "wouter";
import { api } from "../api/client";
import type { Run as Found } from "../api/nouns";
import { useLive } from "../live/store";
import { clockTime } from "../parts/Ago";
import { Button } from "../parts/Button";
import { Failed, Notice, Skeleton } from "../parts/Notice";
import { toast } from "../parts/toasts";
import { TryAgain } from "../rooms/AnswerAgain";
import { nameOf, titleOf } from "../rooms/names";
import { between, heldBecause, money, number, stopReason } from "../words/en";
import { MemoryShown } from "./MemoryShown";
import { chipOf } from "./Runs";
import { Steps } from "./Steps";
import s from "./work.module.css";

export default function Run({ id }: { id: string }) {
  const run = useQuery({ queryKey: ["run", id], queryFn: () => api.run(id) });
  const state = useLive((all) => all);
  const agent = nameOf(state.members, run.data?.agentId);
  useEffect(() => {
    document.title = `Run of ${agent} · Bullpen`;
  }, [agent]);
  if (run.isPending) return <main id="main" className={s.page}><Skeleton /></main>;
  if (run.error) return <main id="main" className={s.page}><Failed error={run.error} onRetry={() => void run.refetch()} /></main>;
  const found = run.data;
  const chip = chipOf(found);
  const live = !found.finishedAt;
  const held = heldBecause(found, clockTime);
  const space = found.spaceId ? state.spaces[found.spaceId] : undefined;
  return (
    <main className={s.page} id="main">
      <header className={s.head}>
        <Link href="/runs" aria-label="All runs" style={{ display: "grid", color: "var(--muted)" }}>
          <ArrowLeft size={18} aria-hidden />
        </Link>
        <h1 tabIndex={-1}>
          Run · {agent}
          {space && ` in ${space.kind === "dm" ? titleOf(space, state) : `#${titleOf(space, state)}`}`}
        </h1>
        <span className={s.chip} data-tone={chip.tone} role="status">
          {chip.text}
        </span>
        {found.retryOf && <Link href={`/runs/${found.retryOf}`}>Second try · see the first</Link>}
        {!live && (
          <div className={s.push}>
            <TryAgain runId={id} />
          </div>
        )}
        {live && (
          <div className={s.push}>
            <Button look="danger" onClick={() => void api.cancelRun(id).then(() => run.refetch(), toast)}>
              <Square size={14} aria-hidden /> Stop
            </Button>
          </div>
        )}
      </header>
      <dl className={s.facts}>
        <Fact name="Cost" value={money(found.usage.cost, found.usage.unpriced)} />
        <Fact name="Took" value={between(found.startedAt, found.finishedAt)} />
        <Fact name="Tokens in, out" value={`${number(found.usage.inputTokens ?? 0)} + ${number(found.usage.outputTokens ?? 0)}`} />
        <Fact name="Depth in its chain" value={number(found.depth ?? 0)} />
        <Fact name="Ended" value={ended(found, (id) => nameOf(state.members, id))} />
      </dl>
      <div className={s.scroll}>
        {found.blocks && <MemoryShown agentId={found.agentId} blocks={found.blocks} />}
        {held && <Notice tone="warn">{`${agent} ${held}`}</Notice>}
        {found.error && !found.stoppedBy && <Notice tone={held ? "warn" : "bad"}>{found.error}</Notice>}
        {found.outside.length > 0 && <Notice tone="warn">It read text from outside: {found.outside.join(", ")}.</Notice>}
        <Steps run={found} />
      </div>
    </main>
  );
}

function ended(run: Found, called: (id: string) => string): string {
  if (!run.finishedAt) return "not yet";
  if (run.stoppedBy) return `${called(run.stoppedBy)} stopped it`;
  return run.stopReason ? (stopReason[run.stopReason] ?? run.stopReason) : "–";
}

export function Fact({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}
