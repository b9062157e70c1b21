// Every card that is registered, with half-written and with complete arguments, in all statuses.
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { renderToString } from "react-dom/server";
import { describe, expect, it } from "vitest";
import type { MessageStatus } from "../api/nouns";
import { answerWords, mayAnswer } from "./CallCard";
import { chartOf } from "./chartData";
import { cardFor, fallbackCard, registered } from "./index";
import { safeSchema } from "./schema";
import type { Call } from "./types";

const STATUSES: MessageStatus[] = ["streaming", "requires_action", "complete", "error", "expired", "cancelled"];
const ARGS: Record<string, unknown>[] = [
  {},
  { question: "Se" },
  { question: "Send it?", options: ["a", { value: "b", label: "B", note: "more" }], many: true },
  { title: "T", type: "line", rows: [{ day: "Mon", n: 1 }] },
  { title: "T", bars: [{ label: "x", value: 2 }] },
  { title: "F", schema: { type: "object", properties: { a: { type: "string" } } } },
  { question: 7, options: "no", title: null, rows: "no", schema: "no" },
];

const call = (more: Partial<Call>): Call => ({ callId: "call_1", toolName: "x", status: "complete", args: {}, argsComplete: true, agentId: "ada", ...more });

function drawn(toolName: string, status: MessageStatus, args: Record<string, unknown>): string {
  const made = call({ toolName, status, args, argsComplete: status !== "streaming", result: status === "complete" ? { confirmed: true } : undefined, error: status === "error" ? "It broke." : undefined });
  const { View } = cardFor(made);
  return renderToString(
    <QueryClientProvider client={new QueryClient()}>
      <View call={made} mayAnswer={false} answer={() => Promise.resolve({ ok: true })} compact={false} />
    </QueryClientProvider>,
  );
}

describe.each([...Object.keys(registered()), "some_other_tool"])("the card of %s", (name) => {
  it.each(STATUSES)("draws while %s, whatever its arguments", (status) => {
    for (const args of ARGS) expect(drawn(name, status, args).length).toBeGreaterThan(20);
  });
});

describe("which card", () => {
  it("is found by the tool's name, and is the fallback where arguments do not fit", () => {
    expect(cardFor(call({ toolName: "choose", args: { question: "?", options: ["a"] } }))).not.toBe(fallbackCard);
    expect(cardFor(call({ toolName: "choose", args: { question: "?" } }))).toBe(fallbackCard);
    expect(cardFor(call({ toolName: "unheard_of" }))).toBe(fallbackCard);
  });
});

describe("who may answer", () => {
  const waiting = call({ status: "requires_action", kind: "space" });
  it.each([
    [waiting, [], ["me"], true],
    [waiting, ["answer_pending"], [], false],
    [{ ...waiting, kind: "approval" as const }, [], ["me"], false],
    [{ ...waiting, kind: "approval" as const }, ["answer_pending"], [], true],
    [{ ...waiting, kind: "external" as const }, ["owner"], ["me"], false],
    [{ ...waiting, status: "complete" as const }, [], ["me"], false],
  ])("%#", (made, grants, members, may) => expect(mayAnswer(made, grants, "me", members)).toBe(may));
});

it("says an answer in words", () => {
  expect([{ approved: false }, { confirmed: true }, { choice: "a" }, { choices: ["a", "b"] }].map(answerWords)).toEqual(["Deny", "Yes", "a", "a, b"]);
});

describe("data of a chart", () => {
  it.each([
    [{ rows: [{ day: "Mon", n: 1 }] }, "day", ["n"]],
    [{ bars: [{ label: "a", value: 1 }] }, "label", ["value"]],
    [{ series: [{ name: "now", points: [["Mon", 1], ["Tue", 2]] }, { name: "then", points: [{ x: "Mon", y: 3 }] }] }, "label", ["now", "then"]],
    [{ data: [["Mon", 1, 2]] }, "label", ["series 1", "series 2"]],
  ])("%j", (args, label, series) => {
    const chart = chartOf({ title: "T", ...args });
    expect([chart.label, chart.series]).toEqual([label, series]);
  });
  it("is a table where there are no numbers", () => expect(chartOf({ rows: [{ a: "x" }] }).type).toBe("table"));
});

describe("a schema from an agent", () => {
  it.each([
    [{ type: "object", properties: {} }, true],
    [{ type: "object", properties: { a: { $ref: "#/$defs/a" } } }, true],
    [{ type: "object", properties: { a: { $ref: "https://e.example/s" } } }, false],
    [{ type: "object", properties: { a: { type: "string", pattern: "^(a+)+$" } } }, false],
    [{ type: "string" }, false],
    [{ type: "object", description: "x".repeat(70_000) }, false],
    ["no", false],
  ])("%#", (schema, safe) => expect(safeSchema(schema)).toBe(safe));
});
