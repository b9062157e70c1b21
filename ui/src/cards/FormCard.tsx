import { ClipboardList } from "lucide-react";
import { lazy, Suspense } from "react";
import { Args, isRecord } from "../parts/Args";
import { useBegun } from "../parts/begun";
import { Skeleton } from "../parts/Notice";
import { Frame, Outcome, WhoMay } from "./Frame";
import { safeSchema } from "./schema";
import type { Card, CardProps } from "./types";

const SchemaForm = lazy(() => import("./SchemaForm"));

type FormArgs = { title?: string; schema: Record<string, unknown>; values?: Record<string, unknown> };
type Result = { values: Record<string, unknown> };

function View({ call, mayAnswer, answer }: CardProps<FormArgs, Result>) {
  const [filled, setFilled] = useBegun(`${call.callId}/values`, call.args.values ?? {});
  const over = call.status !== "requires_action" && call.status !== "streaming";
  const values = isRecord(call.result) && isRecord(call.result.values) ? call.result.values : null;
  return (
    <Frame icon={<ClipboardList size={16} aria-hidden />} title={call.args.title ?? "A form"} label={`Form: ${call.args.title ?? ""}`} call={call}>
      {over ? (
        <>
          {values && <Args args={values} />}
          <Outcome call={call} words="filled in" />
        </>
      ) : call.argsComplete && call.args.schema ? (
        <Suspense fallback={<Skeleton rows={2} />}>
          <SchemaForm schema={call.args.schema} values={isRecord(filled) ? filled : {}} onChange={setFilled} disabled={!mayAnswer} onSubmit={(given) => void answer({ values: given })} />
          <WhoMay call={call} mayAnswer={mayAnswer} />
        </Suspense>
      ) : null}
    </Frame>
  );
}

export const formCard: Card<FormArgs, Result> = {
  summary: (call) => call.args.title ?? "A form",
  View,
  accepts: (args) => isRecord(args) && safeSchema(args.schema),
};
