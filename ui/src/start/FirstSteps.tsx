// An empty office, and what its owner does first: a model, an agent, a room. Each is one click away.
import { Circle, CircleCheck } from "lucide-react";
import { useState } from "react";
import { Button } from "../parts/Button";
import { Dialog } from "../parts/Dialog";
import { useConnections } from "../work/connections";
import { useAgents } from "../work/data";
import { NewAgent } from "../work/NewAgent";
import ConnectModel from "./ConnectModel";
import s from "./start.module.css";

export default function FirstSteps({ onNewRoom }: { onNewRoom(): void }) {
  const [open, setOpen] = useState<"model" | "agent" | null>(null);
  const close = (): void => setOpen(null);
  const models = useConnections().data?.items.length ?? 0;
  const agents = useAgents().data?.items.length ?? 0;
  const steps = [
    { text: "Connect a model", note: "What agents think with: a provider with its key, or Ollama, LM Studio or vLLM in your network.", done: models > 0, act: () => setOpen("model") },
    { text: "New agent", note: "A name, instructions, and the model it runs on.", done: agents > 0, act: () => setOpen("agent") },
    { text: "New room", note: "Where people and agents talk. Agents answer where everybody in it sees it.", done: false, act: onNewRoom },
  ];
  const next = steps.findIndex((step) => !step.done);
  return (
    <>
      <ol className={`${s.steps} ${s.first}`} aria-label="First steps">
        {steps.map((step, at) => (
          <li key={step.text} data-done={step.done || undefined}>
            {step.done ? <CircleCheck size={18} color="var(--ok)" aria-label="done" /> : <Circle size={18} color="var(--faint)" aria-label="to do" />}
            <span>
              <Button look={at === next ? "primary" : undefined} onClick={step.act}>
                {step.text}
              </Button>
              <small>{step.note}</small>
            </span>
          </li>
        ))}
      </ol>
      <Dialog title="Connect a model" open={open === "model"} onClose={close}>
        <ConnectModel agentIds={[]} onDone={close} />
      </Dialog>
      <NewAgent open={open === "agent"} onClose={close} />
    </>
  );
}
