// A card of a tool that has none of its own and waits for a person: what it was given, and a place for the answer. What
// its schema has and the agent left open is asked for in a form; else in words.
import { useQuery } from "@tanstack/react-query";
import { Hand } from "lucide-react";
import { lazy, Suspense } from "react";
import { api } from "../api/client";
import * as exact from "../api/exact";
import { Args, isRecord } from "../parts/Args";
import { useBegun } from "../parts/begun";
import { Button, TextButton } from "../parts/Button";
import { Skeleton } from "../parts/Notice";
import p from "../parts/parts.module.css";
import { useName } from "../rooms/names";
import { Who } from "../rooms/Who";
import s from "./cards.module.css";
import { Frame, Outside, WhoMay } from "./Frame";
import { leftOpen, safeSchema } from "./schema";
import type { CardProps } from "./types";

const SchemaForm = lazy(() => import("./SchemaForm"));

export function SpaceAnswer(props: CardProps) {
  const { call, mayAnswer, answer } = props;
  const agent = useName(call.agentId);
  const tool = useQuery({ queryKey: ["tool", call.toolName], queryFn: () => api.tool(call.toolName), staleTime: 60_000, retry: false });
  const schema = tool.data?.inputSchema;
  const open = safeSchema(schema) ? leftOpen(schema, call.args) : null;
  const [inForm, setInForm] = useBegun<boolean | null>(`${call.callId}/inForm`, null);
  const [filled, setFilled] = useBegun<Record<string, unknown>>(`${call.callId}/values`, call.args);
  const asForm = open !== null && (inForm ?? open.length > 0);
  return (
    <Frame icon={<Hand size={16} aria-hidden />} title={<><Who id={call.agentId} /> asks: <code>{call.toolName}</code></>} label={`Answer wanted: ${call.toolName}`} call={call}>
      {!asForm && <Args args={call.args} />}
      <Outside hosts={call.outside} name={agent} />
      {asForm && schema ? (
        <Suspense fallback={<Skeleton rows={2} />}>
          <SchemaForm schema={schema} values={isRecord(filled) ? filled : {}} onChange={setFilled} disabled={!mayAnswer} onSubmit={(values) => void answer({ values })} />
        </Suspense>
      ) : (
        !tool.isPending && <InWords {...props} />
      )}
      <div className={s.acts}>
        <WhoMay call={call} mayAnswer={mayAnswer} />
        {open !== null && mayAnswer && <TextButton className={s.instead} onClick={() => setInForm(!asForm)}>{asForm ? "Answer in words instead" : "Answer with its fields instead"}</TextButton>}
      </div>
    </Frame>
  );
}

function InWords({ call, mayAnswer, answer }: CardProps) {
  const [said, setSaid] = useBegun(`${call.callId}/words`, "");
  const submit = (): void => {
    let result: unknown;
    try {
      result = exact.parse(said);
    } catch {
      result = { answer: said };
    }
    void answer(result);
  };
  return (
    <form
      className={s.edit}
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <label className={p.field}>
        Your answer
        <input value={said} onChange={(event) => setSaid(event.target.value)} disabled={!mayAnswer} />
      </label>
      <div className={s.acts}>
        <Button look="primary" type="submit" disabled={!mayAnswer || !said.trim()}>
          Send answer
        </Button>
      </div>
    </form>
  );
}
