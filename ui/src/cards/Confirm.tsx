import { MessageCircleQuestion } from "lucide-react";
import * as exact from "../api/exact";
import { Button } from "../parts/Button";
import { isRecord } from "../parts/Args";
import s from "./cards.module.css";
import { Frame, Outcome, WhoMay } from "./Frame";
import type { Card, CardProps } from "./types";

type Args = { question: string; yes?: string; no?: string; danger?: boolean };
type Result = { confirmed: boolean };

function View({ call, mayAnswer, answer }: CardProps<Args, Result>) {
  const yes = call.args.yes ?? "Yes";
  const no = call.args.no ?? "No";
  const over = call.status !== "requires_action" && call.status !== "streaming";
  const confirmed = isRecord(call.result) ? (call.result as Result).confirmed : undefined;
  return (
    <Frame icon={<MessageCircleQuestion size={16} aria-hidden />} title={call.args.question ?? "…"} label={`Question: ${call.args.question ?? ""}`} call={call}>
      {over ? (
        <Outcome call={call} words={confirmed === undefined ? exact.text(call.result ?? "") : confirmed ? yes : no} />
      ) : (
        <div className={s.acts}>
          <Button look={call.args.danger ? "danger" : "primary"} disabled={!mayAnswer} onClick={() => void answer({ confirmed: true })}>
            {yes}
          </Button>
          <Button disabled={!mayAnswer} onClick={() => void answer({ confirmed: false })}>
            {no}
          </Button>
          <WhoMay call={call} mayAnswer={mayAnswer} />
        </div>
      )}
    </Frame>
  );
}

export const confirmCard: Card<Args, Result> = {
  summary: (call) => call.args.question ?? "A question",
  View,
  accepts: (args) => isRecord(args) && typeof args.question === "string",
};
