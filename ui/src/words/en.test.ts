import { describe, expect, it } from "vitest";
import { budgetOf, heldBecause } from "./en";

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
