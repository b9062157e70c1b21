// Budgets that are used up, each with a field for a higher one.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, Problem } from "../api/client";
import type { Budget } from "../api/nouns";
import { useLive } from "../live/store";
import { Form } from "../parts/Form";
import { Failed, Skeleton } from "../parts/Notice";
import p from "../parts/parts.module.css";
import { done } from "../parts/toasts";
import { budgetName } from "../words/en";
import { putLimit } from "../work/limits";

/** Those that can hold back this agent here: its own, the room's, and those of people, tasks and the office. */
export default function Reached({ agentId, spaceId, onDone }: { agentId: string; spaceId: string; onDone(): void }) {
  const found = useQuery({ queryKey: ["usage", "budgets"], queryFn: () => api.budgets(), staleTime: 0 });
  if (found.error) return <Failed error={found.error} onRetry={() => void found.refetch()} />;
  if (found.isPending) return <Skeleton rows={1} />;
  const reached = found.data.items.filter((each) => each.reached && (each.kind === "agent" ? each.subjectId === agentId : each.kind !== "space" || each.subjectId === spaceId));
  if (!reached.length) return <p>No budget is used up any more.</p>;
  return (
    <>
      {reached.map((budget) => (
        <OneBudget key={budget.id} budget={budget} onDone={onDone} />
      ))}
    </>
  );
}

function OneBudget({ budget, onDone }: { budget: Budget; onDone(): void }) {
  const called = useLive((state) => (budget.subjectId ? (state.members[budget.subjectId]?.name ?? state.spaces[budget.subjectId]?.name ?? budget.subjectId) : ""));
  const [amount, setAmount] = useState(String(Math.ceil(Math.max(budget.amount, budget.spent) * 2)));
  const save = async (): Promise<void> => {
    const wanted = Number(amount);
    if (!Number.isFinite(wanted) || wanted <= budget.spent) throw new Problem(422, "invalid", `It must be more than what is spent already: ${spent(budget)}.`);
    await putLimit(budget, wanted);
    done("The limit is raised. What waited goes on.");
    onDone();
  };
  return (
    <Form verb="Raise it" onSave={save}>
      <label className={p.field}>
        {budgetName(budget, called)}
        <input inputMode="decimal" value={amount} onChange={(event) => setAmount(event.target.value)} />
        <span className={p.hint}>{`Spent: ${spent(budget)} of ${shown(budget.amount, budget)}`}</span>
      </label>
    </Form>
  );
}

const shown = (amount: number, budget: Budget): string => (budget.unit === "tokens" ? `${Math.round(amount)} tokens` : `$${amount.toFixed(2)}`);
const spent = (budget: Budget): string => shown(budget.spent, budget);
