import { expect, it } from "vitest";
import type { RunMessage, Span } from "../api/nouns";
import { stepsOf, tookOf } from "./stepList";

const entry = (id: string, step: number, type: RunMessage["type"]): RunMessage => ({ id, runId: "run_1", step, type, at: "2026-11-16T09:00:00Z" });
const span = (more: Partial<Span>): Span => ({ spanId: "x", name: "chat", startedAt: "2026-11-16T09:00:00Z", attributes: {}, ...more });

it("puts what one answer did under its step, with what it cost, and keeps what came in between in its place", () => {
  const entries = [
    entry("told", 0, "user_message"), entry("thought", 1, "assistant_message"), entry("call", 1, "tool_call_message"), entry("back", 1, "tool_return_message"),
    entry("steered", 1, "user_message"), entry("more", 2, "tool_call_message"), entry("again", 2, "tool_call_message"),
  ];
  const attributes = {
    "bullpen.step": 2, "gen_ai.response.model": "claude-b", "gen_ai.request.model": "claude-a", "bullpen.fallback": true, "gen_ai.usage.input_tokens": 90,
    "gen_ai.usage.output_tokens": 8, "bullpen.cost": 0.01, "bullpen.model_ms": 1900, "bullpen.tries": 3, "bullpen.away_ms": 4000,
  };
  const found = stepsOf(entries, [span({ name: "invoke_agent" }), span({ attributes })]);
  expect(found.map((each) => (each.kind === "told" ? each.entry.id : each.entries.map(({ id }) => id)))).toEqual(["told", ["thought", "call"], "steered", ["more", "again"]]);
  expect(found.map((each) => (each.kind === "step" ? each.cost : undefined))).toEqual([
    undefined, null, undefined,
    { model: "claude-b", tokensIn: 90, tokensOut: 8, dollars: 0.01, priced: true, thoughtMs: 1900, tries: 3, awayMs: 4000, insteadOf: "claude-a" },
  ]);
});

it("knows how long a call took once it is over", () => {
  const done = span({ name: "execute_tool", spanId: "call_1", finishedAt: "2026-11-16T09:00:01.200Z" });
  expect([...tookOf([done, span({ name: "execute_tool", spanId: "call_2" })])]).toEqual([["call_1", 1200]]);
});
