// What came of trying a model out. A cross stands before what failed, in words, and never before what should have been.
import { CircleCheck, CircleDashed, CircleX } from "lucide-react";
import { useEffect, useRef } from "react";
import type { ModelCheck } from "../api/nouns";
import p from "../parts/parts.module.css";
import { modelProblem } from "../words/en";
import s from "./start.module.css";

// In the order in which they can fail.
const PARTS = [
  { problems: ["address"], good: "The address was reached" },
  { problems: ["key", "model"], good: "The key and the model were accepted" },
  { problems: ["answer"], good: "It answered" },
];

export function Checked({ check }: { check: ModelCheck }) {
  const failed = check.answered ? PARTS.length : Math.max(0, PARTS.findIndex((part) => part.problems.includes(check.problem ?? "address")));
  return (
    <div role="status">
    <ul className={s.checks}>
      {PARTS.map(({ good }, at) => (
        <li key={good}>
          {at < failed ? (
            <CircleCheck size={16} color="var(--ok)" aria-label="yes:" />
          ) : at === failed ? (
            <CircleX size={16} color="var(--bad)" aria-label="no:" />
          ) : (
            <CircleDashed size={16} color="var(--faint)" aria-label="not tried:" />
          )}
          <span>{at === failed ? <Words problem={check.problem} message={`${check.message} Nothing was changed.`} /> : at < failed ? good : "Not tried"}</span>
        </li>
      ))}
    </ul>
    </div>
  );
}

/** One thing that failed. */
export function Failure({ problem, message }: { problem: ModelCheck["problem"]; message: string }) {
  const seen = useRef<HTMLDivElement>(null);
  useEffect(() => seen.current?.scrollIntoView({ block: "nearest" }), [message]);
  return (
    <div role="alert" ref={seen}>
    <ul className={s.checks}>
      <li>
        <CircleX size={16} color="var(--bad)" aria-label="no:" />
        <span>
          <Words problem={problem} message={message} />
        </span>
      </li>
    </ul>
    </div>
  );
}

function Words({ problem, message }: { problem: ModelCheck["problem"]; message: string }) {
  return (
    <>
      <b>{modelProblem[problem ?? "address"]}.</b> <span className={p.problem}>{message}</span>
    </>
  );
}
