// The prompt of one step as it was sent: which part takes how much of the context, and what each of them says.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, Problem } from "../api/client";
import type { PromptPart, StepRequest } from "../api/nouns";
import { TextButton } from "../parts/Button";
import { Args } from "../parts/Args";
import { Failed, Notice, Skeleton } from "../parts/Notice";
import { number, percent, promptPart } from "../words/en";
import { Said } from "./Said";
import s from "./work.module.css";

export function Shown({ runId, step }: { runId: string; step: number }) {
  const [open, setOpen] = useState(false);
  return (
    <div className={s.shown}>
      <TextButton aria-expanded={open} onClick={() => setOpen(!open)}>
        {open ? "Hide what it was shown" : "What it was shown"}
      </TextButton>
      {open && <Request runId={runId} step={step} />}
    </div>
  );
}

function Request({ runId, step }: { runId: string; step: number }) {
  const found = useQuery({ queryKey: ["run", runId, "request", step], queryFn: () => api.stepRequest(runId, step), staleTime: Infinity, retry: false });
  if (found.isPending) return <Skeleton rows={2} />;
  if (found.error instanceof Problem && (found.error.status === 404 || found.error.status === 409)) return <Notice>{found.error.message}</Notice>;
  if (found.error) return <Failed error={found.error} onRetry={() => void found.refetch()} />;
  return <Parts request={found.data} />;
}

type Part = { name: string; tokens: number; inside: React.ReactNode };

function Parts({ request }: { request: StepRequest }) {
  const toolTokens = request.tools.reduce((sum, tool) => sum + tool.tokens, 0);
  const parts: Part[] = [
    ...joined(request.parts).map((part) => ({ name: promptPart(part.name), tokens: part.tokens, inside: <Said text={part.text} /> })),
    ...(request.tools.length ? [{ name: `tools (${request.tools.length})`, tokens: toolTokens, inside: <Tools request={request} /> }] : []),
  ];
  const changed = new Map(request.changed.map((each) => [promptPart(each.part), each.why]));
  return (
    <>
      <p className={s.total}>{`${number(request.tokens)} of ${number(request.window)} tokens, ${percent(request.tokens / request.window)} of what fits${request.model ? ` into ${request.model}` : ""}.`}</p>
      <div className={s.stack} aria-hidden>
        {parts.map((part, at) => (
          <i key={at} data-part={at % 6} style={{ flexGrow: Math.max(part.tokens, 1) }} title={part.name} />
        ))}
      </div>
      {parts.map((part, at) => (
        <details key={at}>
          <summary>
            <i className={s.key} data-part={at % 6} aria-hidden />
            <span>{part.name}</span>
            {changed.has(part.name) && <b className={s.trouble}>changed since</b>}
            <span className={s.share}>{`${number(part.tokens)} tokens · ${percent(part.tokens / Math.max(1, request.tokens))}`}</span>
          </summary>
          {changed.has(part.name) && <Notice tone="warn">{changed.get(part.name)}</Notice>}
          {part.inside}
        </details>
      ))}
      {[...changed].filter(([name]) => !parts.some((part) => part.name === name)).map(([name, why]) => (
        <Notice key={name} tone="warn">{`${name}: ${why}`}</Notice>
      ))}
      {request.leftOut.length > 0 && <Notice>{`Not shown to you: ${request.leftOut.map(promptPart).join(", ")}.`}</Notice>}
    </>
  );
}

/** Pieces of one part that follow each other are one. */
function joined(parts: readonly PromptPart[]): PromptPart[] {
  const found: PromptPart[] = [];
  for (const part of parts) {
    const last = found.at(-1);
    if (last?.name === part.name) found[found.length - 1] = { ...last, text: `${last.text}\n\n${part.text}`, tokens: last.tokens + part.tokens };
    else found.push(part);
  }
  return found;
}

function Tools({ request }: { request: StepRequest }) {
  return (
    <ul className={s.toolist}>
      {request.tools.map((tool) => (
        <li key={tool.name}>
          <details>
            <summary>
              <code>{tool.name}</code>
              <span className={s.share}>{`${number(tool.tokens)} tokens`}</span>
            </summary>
            <p dir="auto">{tool.description}</p>
            <Args args={tool.inputSchema.properties ?? {}} />
          </details>
        </li>
      ))}
    </ul>
  );
}
