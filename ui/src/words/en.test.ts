import { describe, expect, it } from "vitest";
import { budgetOf, heldBecause, schedule } from "./en";

const clock = (): string => "09:05";

describe("why a run is put aside", () => {
  it("says nothing of a run that goes on or is over", () => {
    expect(heldBecause({}, clock)).toBeNull();
    expect(heldBecause({ finishedAt: "2026-11-16T09:00:00Z", pausedReason: "used up", retryAt: "2026-11-16T09:05:00Z" }, clock)).toBeNull();
  });
  it("names the budget, or when the model is asked again", () => {
    expect(heldBecause({ pausedReason: "The budget is used up." }, clock)).toBe("is put aside. The budget is used up.");
    expect(heldBecause({ retryAt: "2026-11-16T09:05:00Z" }, clock)).toContain("asked again at 09:05");
  });
});

describe("a budget in a sentence", () => {
  const budget = { kind: "agent", subjectId: "ada", period: "day", unit: "cost", amount: 2 };
  it("says whose it is and how far it is used", () => {
    expect(budgetOf(budget, () => "Ada")).toBe("The day's budget of $2 for Ada is used to 80 %.");
    expect(budgetOf({ ...budget, subjectId: null, unit: "tokens", amount: 5000, reached: true }, String)).toContain("5,000 tokens for the whole office is used up");
  });
});

describe("a schedule in words", () => {
  const when = (at: string): string => `at ${at}`;
  it.each([
    ["interval", "60000", "every minute"],
    ["interval", "5400000", "every 90 minutes"],
    ["interval", "86400000", "every day"],
    ["interval", "1500", "every 1,500 ms"],
    ["interval", "10m", "every 10m"],
    ["cron", "0 9 * * 1-5", "Mon to Fri at 09:00"],
    ["cron", "30 18 * * 0,6", "Sun, Sat at 18:30"],
    ["cron", "5 7 * * *", "every day at 07:05"],
    ["cron", "*/5 * * * *", "cron */5 * * * *"],
    ["once", "2026-12-24T18:00", "once, at 2026-12-24T18:00"],
  ])("%s %s", (type, value, said) => expect(schedule(type, value, when)).toBe(said));
});
