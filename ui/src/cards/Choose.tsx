import { ListChecks } from "lucide-react";
import { useId } from "react";
import * as exact from "../api/exact";
import { isRecord } from "../parts/Args";
import { useBegun } from "../parts/begun";
import { Button } from "../parts/Button";
import p from "../parts/parts.module.css";
import s from "./cards.module.css";
import { Frame, Outcome, WhoMay } from "./Frame";
import type { Card, CardProps } from "./types";

type Option = string | { value: string; label?: string; note?: string };
type Args = { question: string; options: Option[]; many?: boolean };
type Result = { choice: string } | { choices: string[] };

const LONG = 12;

function full(option: Option): { value: string; label: string; note?: string } {
  if (typeof option === "string") return { value: option, label: option };
  return { value: String(option.value), label: String(option.label ?? option.value), note: option.note };
}

function View({ call, mayAnswer, answer }: CardProps<Args, Result>) {
  const options = (Array.isArray(call.args.options) ? call.args.options : []).filter(Boolean).map(full);
  const many = call.args.many === true;
  const [chosen, setChosen] = useBegun<string[]>(`${call.callId}/chosen`, []);
  const [wanted, setWanted] = useBegun(`${call.callId}/wanted`, "");
  const name = useId();
  const over = call.status !== "requires_action" && call.status !== "streaming";
  const shown = options.filter((option) => option.label.toLowerCase().includes(wanted.toLowerCase()));
  const result: Record<string, unknown> = isRecord(call.result) ? call.result : {};
  const picked = "choice" in result ? [String(result.choice)] : Array.isArray(result.choices) ? result.choices.map(String) : [];
  const words = picked.map((value) => options.find((option) => option.value === value)?.label ?? value).join(", ");
  return (
    <Frame icon={<ListChecks size={16} aria-hidden />} title={call.args.question ?? "…"} label={`Choice: ${call.args.question ?? ""}`} call={call}>
      {over ? (
        <Outcome call={call} words={words || exact.text(call.result ?? "")} />
      ) : (
        <>
          {options.length > LONG && <input className={p.input} type="search" placeholder="Find an option" aria-label="Find an option" value={wanted} onChange={(event) => setWanted(event.target.value)} />}
          <fieldset className={`${s.options} ${options.length > LONG ? s.scroll : ""}`} disabled={!mayAnswer}>
            <legend className="unseen">{call.args.question}</legend>
            {shown.map((option) => (
              <label key={option.value} className={s.option}>
                <input
                  type={many ? "checkbox" : "radio"}
                  name={name}
                  value={option.value}
                  checked={chosen.includes(option.value)}
                  onChange={(event) => setChosen(!many ? [option.value] : event.target.checked ? [...chosen, option.value] : chosen.filter((value) => value !== option.value))}
                />
                <span dir="auto">
                  {option.label}
                  {option.note && <small>{option.note}</small>}
                </span>
              </label>
            ))}
          </fieldset>
          <div className={s.acts}>
            <Button look="primary" disabled={!mayAnswer || !chosen.length} onClick={() => void answer(many ? { choices: chosen } : { choice: chosen[0] as string })}>
              Send answer
            </Button>
            <WhoMay call={call} mayAnswer={mayAnswer} />
          </div>
        </>
      )}
    </Frame>
  );
}

export const chooseCard: Card<Args, Result> = {
  summary: (call) => call.args.question ?? "A choice",
  View,
  accepts: (args) => isRecord(args) && typeof args.question === "string" && Array.isArray(args.options) && args.options.length > 0,
};
