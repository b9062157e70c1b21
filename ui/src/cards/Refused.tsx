// Kinds of calls that are not answered in a card: what is typed into a card becomes a result, which agents and everybody
// in the room read. That is no place for a secret.
import { KeyRound } from "lucide-react";
import { Args } from "../parts/Args";
import { Who } from "../rooms/Who";
import { kind as kinds, REFUSED } from "../words/en";
import s from "./cards.module.css";
import { Frame } from "./Frame";
import type { Call } from "./types";

export function isRefused(call: Pick<Call, "kind" | "status">): boolean {
  return call.status === "requires_action" && call.kind === "takeover";
}

export function Refused({ call }: { call: Call }) {
  const wanted = kinds[call.kind ?? ""] ?? "something";
  return (
    <Frame icon={<KeyRound size={16} aria-hidden />} title={<><Who id={call.agentId} exact /> waits for {wanted}</>} label={`Not answered here: ${call.toolName}`} call={call}>
      <Args args={call.args} />
      <p className={s.note}>{REFUSED}</p>
    </Frame>
  );
}
