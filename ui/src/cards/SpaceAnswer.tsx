// A card of a tool that has none of its own and waits for a person: what it was given, and a place for the answer.
import { Hand } from "lucide-react";
import { useState } from "react";
import { Args } from "../parts/Args";
import { Button } from "../parts/Button";
import p from "../parts/parts.module.css";
import { useName } from "../rooms/names";
import s from "./cards.module.css";
import { Frame, Outside, WhoMay } from "./Frame";
import type { CardProps } from "./types";

export function SpaceAnswer({ call, mayAnswer, answer }: CardProps) {
  const [text, setText] = useState("");
  const [problem, setProblem] = useState("");
  const agent = useName(call.agentId);
  const submit = async (): Promise<void> => {
    let result: unknown = text;
    try {
      result = JSON.parse(text);
    } catch {
      result = { answer: text };
    }
    const told = await answer(result);
    if (!told.ok) setProblem(told.message);
  };
  return (
    <Frame icon={<Hand size={16} aria-hidden />} title={<>{agent} asks: <code>{call.toolName}</code></>} label={`Answer wanted: ${call.toolName}`} call={call}>
      <Args args={call.args} />
      <Outside hosts={call.outside} name={agent} />
      <form
        className={s.edit}
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <label className={p.field}>
          Your answer
          <input value={text} onChange={(event) => setText(event.target.value)} disabled={!mayAnswer} />
        </label>
        {problem && <p className={p.problem} role="alert">{problem}</p>}
        <div className={s.acts}>
          <Button look="primary" type="submit" disabled={!mayAnswer || !text.trim()}>
            Send answer
          </Button>
          <WhoMay call={call} mayAnswer={mayAnswer} />
        </div>
      </form>
    </Frame>
  );
}
