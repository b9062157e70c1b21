// What a run wrote down, in the order in which it happened: what it was told, and step by step what it thought and did. Pure.
import type { RunMessage, Span } from "../api/nouns";

export type Told = { kind: "told"; entry: RunMessage };
export type Step = { kind: "step"; step: number; at: string; entries: RunMessage[]; cost: StepCost | null };
export type StepCost = { model: string; tokensIn: number; tokensOut: number; dollars: number; priced: boolean; thoughtMs: number; tries: number; awayMs: number; insteadOf: string | null };

/** Answers of one step stand together; what came from outside in between keeps its place. Results belong to their calls. */
export function stepsOf(entries: readonly RunMessage[], spans: readonly Span[]): (Told | Step)[] {
  const costs = new Map(spans.filter((span) => span.name === "chat").map((span) => [span.attributes["bullpen.step"] as number, costOf(span)]));
  const found: (Told | Step)[] = [];
  for (const entry of entries) {
    const last = found.at(-1);
    if (entry.type === "tool_return_message") continue;
    if (entry.type === "user_message") found.push({ kind: "told", entry });
    else if (last?.kind === "step" && last.step === entry.step) last.entries.push(entry);
    else found.push({ kind: "step", step: entry.step, at: entry.at, entries: [entry], cost: costs.get(entry.step) ?? null });
  }
  return found;
}

function costOf({ attributes }: Span): StepCost | null {
  const model = attributes["gen_ai.response.model"];
  if (typeof model !== "string") return null;
  const figure = (name: string): number => Number(attributes[name] ?? 0);
  return {
    model, tokensIn: figure("gen_ai.usage.input_tokens"), tokensOut: figure("gen_ai.usage.output_tokens"), dollars: figure("bullpen.cost"), priced: attributes["bullpen.priced"] !== false,
    thoughtMs: figure("bullpen.model_ms"), tries: Math.max(1, figure("bullpen.tries")), awayMs: figure("bullpen.away_ms"),
    insteadOf: attributes["bullpen.fallback"] === true ? String(attributes["gen_ai.request.model"]) : null,
  };
}

/** How long each call took, by its id. */
export function tookOf(spans: readonly Span[]): Map<string, number> {
  const tools = spans.filter((span) => span.name === "execute_tool" && span.finishedAt);
  return new Map(tools.map((span) => [span.spanId, Date.parse(span.finishedAt as string) - Date.parse(span.startedAt)]));
}
