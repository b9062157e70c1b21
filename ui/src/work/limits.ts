// Changing what may be spent. What an agent's own definition says is changed there.
import { api } from "../api/client";
import type { Budget } from "../api/nouns";

export type Limit = { kind: Budget["kind"]; subjectId?: string | null; period: Budget["period"]; unit: Budget["unit"]; origin?: string | null };

/** `null` takes the limit away. */
async function putOfAgent(limit: Limit, amount: number | null): Promise<void> {
  const agent = await api.agent(limit.subjectId ?? "");
  await api.updateAgent(agent.id, { limits: { ...agent.limits, [limit.unit === "tokens" ? "maxTokensPerDay" : "maxCostPerDay"]: amount } });
}

export async function putLimit(limit: Limit, amount: number): Promise<void> {
  if (limit.origin === "limits") return putOfAgent(limit, amount);
  const { kind, period, unit, subjectId } = limit;
  await api.putBudget({ kind, ...(kind === "office" ? {} : { subjectId }), period, unit, amount });
}

export const dropLimit = (budget: Budget): Promise<unknown> => (budget.origin === "limits" ? putOfAgent(budget, null) : api.deleteBudget(budget.id));
