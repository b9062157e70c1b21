// The first minute: four things to do, ticked off as they happen. Never in the way, and gone when skipped.
import { CircleCheck, Circle } from "lucide-react";
import { lazy, Suspense, useEffect, useState } from "react";
import { keep, kept } from "../live/kept";
import { useLive } from "../live/store";
import { Button, TextButton } from "../parts/Button";
import { Dialog } from "../parts/Dialog";
import { Skeleton } from "../parts/Notice";
import { useAgents, usePending } from "../work/data";
import { useQuery } from "@tanstack/react-query";
import { api } from "../api/client";
import s from "./start.module.css";

const ConnectModel = lazy(() => import("./ConnectModel"));

export default function Tour({ spaceId }: { spaceId: string }) {
  const me = useLive((state) => state.me);
  const [skipped, setSkipped] = useState(() => kept(`tour.${me?.id ?? ""}`, false));
  if (!me || skipped) return null;
  const skip = (): void => {
    keep(`tour.${me.id}`, true);
    setSkipped(true);
  };
  return <Steps spaceId={spaceId} me={me.id} owner={me.grants.includes("manage_agents")} onSkip={skip} />;
}

function Steps({ spaceId, me, owner, onSkip }: { spaceId: string; me: string; owner: boolean; onSkip(): void }) {
  const [open, setOpen] = useState(() => !matchMedia("(max-width: 720px)").matches);
  const [connecting, setConnecting] = useState(false);
  const pending = usePending();
  const agents = useAgents();
  const answered = useQuery({ queryKey: ["pending", "answered"], queryFn: () => api.pending({ status: "resolved", limit: 20 }) });
  const speaks = useLive((state) => Object.values(state.rooms).some((room) => room.messages.some((message) => message.authorId === me)));
  const [spoke, setSpoke] = useState(() => kept(`spoke.${me}`, false));
  useEffect(() => {
    if (!speaks || spoke) return;
    keep(`spoke.${me}`, true);
    setSpoke(true);
  }, [speaks, spoke, me]);
  const waits = pending.data?.needsMe[0];
  const asks = useLive((state) => (waits ? (state.members[waits.agentId]?.name ?? "An agent") : ""));
  const didAnswer = (answered.data?.items ?? []).some((call) => call.answeredBy === me);
  const all = agents.data?.items ?? [];
  const scripted = all.filter((agent) => isScript(agent.model));
  const first = useLive((state) => state.spaces[spaceId]?.memberDetails.find((member) => member.kind === "agent"));
  const steps = [
    { done: true, text: "The office is running", note: "" },
    { done: spoke, text: first ? `Say hello to @${first.name}` : "Say something", note: "in the field below" },
    ...(waits || didAnswer ? [{ done: didAnswer, text: didAnswer ? "A card is answered" : `Answer ${asks}’s card`, note: "it waits in the room and under “Waiting for you”" }] : []),
    ...(owner && all.length ? [{ done: scripted.length < all.length, text: "Connect a model", note: "until then agents follow a script, which is free", act: () => setConnecting(true) }] : []),
  ];
  const ready = steps.filter((step) => step.done).length;
  if (ready === steps.length) return null;
  return (
    <section className={s.tour} aria-label="Start here" data-open={open || undefined}>
      <header>
        <h2>Start here</h2>
        <TextButton onClick={() => setOpen(!open)} aria-expanded={open}>
          {open ? "Fold" : `${ready} of ${steps.length}`}
        </TextButton>
      </header>
      {open && (
        <ol className={s.steps}>
          {steps.map((step) => (
            <li key={step.text} data-done={step.done || undefined}>
              {step.done ? <CircleCheck size={16} color="var(--ok)" aria-label="done" /> : <Circle size={16} color="var(--faint)" aria-label="to do" />}
              <span>
                {"act" in step && !step.done ? <Button onClick={step.act}>{step.text}</Button> : step.text}
                {step.note && !step.done && <small>{step.note}</small>}
              </span>
            </li>
          ))}
        </ol>
      )}
      <footer>
        <span>
          {ready} of {steps.length}
        </span>
        <TextButton onClick={onSkip}>Skip tour</TextButton>
      </footer>
      <Dialog title="Connect a model" open={connecting} onClose={() => setConnecting(false)}>
        <Suspense fallback={<Skeleton rows={2} />}>
          <ConnectModel agentIds={[]} onDone={() => setConnecting(false)} />
        </Suspense>
      </Dialog>
    </section>
  );
}

function isScript(model: unknown): boolean {
  if (typeof model === "string") return model.startsWith("script:");
  return (model as { provider?: string } | null)?.provider === "script";
}
