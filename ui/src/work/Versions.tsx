// What an agent's instructions were: who changed them and when, what changed, and a way back.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../api/client";
import type { Agent, InstructionsVersion } from "../api/nouns";
import { Ago } from "../parts/Ago";
import { Button } from "../parts/Button";
import { Failed, Skeleton } from "../parts/Notice";
import { Who } from "../rooms/Who";
import type { SaveAgent } from "./Agent";
import s from "./work.module.css";

export function Versions({ agent, manages, save }: { agent: Agent; manages: boolean; save: SaveAgent }) {
  const [open, setOpen] = useState(false);
  return (
    <details className={s.whole} open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Earlier instructions</summary>
      {open && <List agent={agent} manages={manages} save={save} />}
    </details>
  );
}

function List({ agent, manages, save }: { agent: Agent; manages: boolean; save: SaveAgent }) {
  const versions = useQuery({ queryKey: ["agent", agent.id, "instructions", agent.updatedAt], queryFn: () => api.instructions(agent.id) });
  const [shown, setShown] = useState<number | null>(null);
  if (versions.isPending) return <Skeleton rows={2} />;
  if (versions.error) return <Failed error={versions.error} onRetry={() => void versions.refetch()} />;
  const restore = (one: InstructionsVersion): void => void save({ instructions: one.content }, { instructions: agent.instructions ?? "" });
  return (
    <ol className={s.plain} aria-label="Versions of the instructions">
      {versions.data.items.map((one) => (
        <li key={one.version} className={s.line}>
          <span>
            Version {one.version}
            <small>
              {one.by && (
                <>
                  <Who id={one.by} />,{" "}
                </>
              )}
              <Ago at={one.at} />
            </small>
          </span>
          {one.version > 1 && (
            <Button aria-expanded={shown === one.version} onClick={() => setShown(shown === one.version ? null : one.version)}>
              What changed
            </Button>
          )}
          {manages && one.content !== (agent.instructions ?? "") && <Button onClick={() => restore(one)}>Use it again</Button>}
          {shown === one.version && <Changes agent={agent} version={one.version} />}
        </li>
      ))}
    </ol>
  );
}

function Changes({ agent, version }: { agent: Agent; version: number }) {
  const compared = useQuery({ queryKey: ["agent", agent.id, "diff", version], queryFn: () => api.compareInstructions(agent.id, version - 1, version) });
  if (compared.isPending) return <Skeleton rows={1} />;
  if (compared.error) return <Failed error={compared.error} />;
  const lines = (compared.data.diff ?? "").split("\n").slice(3);
  return (
    <pre className={s.diff} tabIndex={0} aria-label={`What changed in version ${version}`}>
      {lines.map((line, place) => (
        <span key={place} data-sign={line[0]}>
          {line}
          {"\n"}
        </span>
      ))}
    </pre>
  );
}
