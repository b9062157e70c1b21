import { ShieldQuestion } from "lucide-react";
import { useState } from "react";
import { useQuery } from "@tanstack/react-query";
import { api } from "../api/client";
import { useLive } from "../live/store";
import { Args, Exact, foldedArgs } from "../parts/Args";
import { useBegun } from "../parts/begun";
import { Button } from "../parts/Button";
import p from "../parts/parts.module.css";
import { useName } from "../rooms/names";
import { Who } from "../rooms/Who";
import s from "./cards.module.css";
import { Because, Frame, Outcome, Outside, WhoMay } from "./Frame";
import { fieldsOf, valueOf, type Field } from "./fields";
import type { CardProps } from "./types";

type Answer = { approved: boolean; args?: Record<string, unknown>; reason?: string; always?: "space" | "agent" | "source"; hash?: string };

/** The exact arguments, and a decision about just these. No key approves by itself. */
export function Approval({ call, mayAnswer, answer }: CardProps<Record<string, unknown>, Answer>) {
  const agent = useName(call.agentId);
  const grants = useLive((state) => state.me?.grants);
  const inRoom = !!call.spaceId;
  const [editing, setEditing] = useBegun(`${call.callId}/editing`, false);
  const [denying, setDenying] = useBegun(`${call.callId}/denying`, false);
  const [reason, setReason] = useBegun(`${call.callId}/reason`, "");
  const [always, setAlways] = useBegun(`${call.callId}/always`, false);
  const [edits, setEdits] = useBegun<Record<string, string>>(`${call.callId}/edits`, {});
  const [folded, setFolded] = useState(() => foldedArgs(call.args));
  const [problem, setProblem] = useState("");
  const [asked, setAsked] = useState(false); // just now: a row that comes back takes nobody's focus
  const tool = useQuery({ queryKey: ["tool", call.toolName], queryFn: () => api.tool(call.toolName), enabled: editing, retry: false, staleTime: 60_000 });
  const texts = fieldsOf(call.args, tool.data?.inputSchema).map((field) => ({ ...field, now: edits[field.name] ?? field.before }));
  const changed = editing && texts.some((each) => each.now !== each.before);

  // Asked for because of what its agent has read: that can be allowed by itself, and nothing wider is offered here.
  const sources = call.reason ? (call.outside ?? []) : [];
  const maySource = sources.length > 0 && !sources.includes("more") && !changed;

  const decide = async (approved: boolean, forGood?: Answer["always"]): Promise<void> => {
    setProblem("");
    const result: Answer = { approved, ...(call.hash ? { hash: call.hash } : {}) };
    if (approved && changed) {
      const args: Record<string, unknown> = { ...call.args };
      for (const field of texts.filter((each) => each.now !== each.before)) {
        const given = valueOf(field, field.now);
        if ("problem" in given) return setProblem(given.problem);
        args[field.name] = given.value;
      }
      result.args = args;
    }
    if (approved && forGood) result.always = forGood;
    if (!approved && reason.trim()) result.reason = reason.trim();
    await answer(result);
  };

  const over = call.status !== "requires_action";
  const decision = call.result as Answer | undefined;
  return (
    <Frame icon={<ShieldQuestion size={16} aria-hidden />} title={<><Who id={call.agentId} exact /> wants to run <code><Exact text={call.toolName} /></code></>} label={`Approval wanted: ${call.toolName}`} call={call}>
      {editing && !over ? (
        <div className={s.edit}>
          {texts.map(({ name, before, now, ...field }) => (
            <label key={name} className={p.field}>
              <Exact text={name} />
              <Value field={field} now={now} onChange={(next) => setEdits({ ...edits, [name]: next })} />
              {field.about && <span className={p.hint} dir="auto">{field.about}</span>}
              {now !== before && (
                <span className={s.before}>
                  <del><Exact text={before} /></del> → <ins><Exact text={now} /></ins>
                </span>
              )}
            </label>
          ))}
        </div>
      ) : (
        <Args args={call.args} onOpened={(name) => setFolded((before) => before.filter((each) => each !== name))} />
      )}
      {sources.length > 0 && !over ? <Because hosts={sources} name={agent} /> : <Outside hosts={call.outside} name={agent} />}
      {over ? (
        <Outcome call={call} words={decision?.approved === false ? "denied" : "approved"} />
      ) : (
        <>
          {denying && (
            <label className={p.field}>
              Why not? <Who id={call.agentId} /> reads this.
              <input value={reason} onChange={(event) => setReason(event.target.value)} autoFocus={asked} />
            </label>
          )}
          {folded.length > 0 && <p className={s.gist}>Open the folded arguments before you approve.</p>}
          {problem && <p className={p.problem} role="alert">{problem}</p>}
          <div className={s.acts}>
            {!denying && (
              <Button look="primary" disabled={!mayAnswer || folded.length > 0} onClick={() => void decide(true, always && !sources.length ? (inRoom ? "space" : "agent") : undefined)}>
                {changed ? "Approve with changes" : sources.length ? "Allow once" : "Approve"}
              </Button>
            )}
            {!denying && maySource && grants?.includes("manage_agents") && (
              <Button disabled={!mayAnswer || folded.length > 0} onClick={() => void decide(true, "source")}>
                Always allow <Exact text={call.toolName} /> for text from {sources.join(", ")}
              </Button>
            )}
            {!denying && (
              <Button disabled={!mayAnswer} onClick={() => setEditing(!editing)}>
                {editing ? "As asked" : "Edit…"}
              </Button>
            )}
            <Button look="danger" disabled={!mayAnswer} onClick={() => (denying ? void decide(false) : (setAsked(true), setDenying(true)))}>
              {denying ? "Deny and say why" : "Deny"}
            </Button>
            {denying && <Button onClick={() => setDenying(false)}>Back</Button>}
            {!denying && mayAnswer && !sources.length && grants?.includes("manage_agents") && (
              <label className={p.check} title="Undo it at the agent, under Tools">
                <input type="checkbox" checked={always} onChange={(event) => setAlways(event.target.checked)} />
                {inRoom ? "Always allow in this room" : "Always allow"}
              </label>
            )}
            {!mayAnswer && <WhoMay call={call} mayAnswer={mayAnswer} />}
          </div>
          {maySource && mayAnswer && grants?.includes("manage_agents") && <p className={s.gist}>{`“Always” lets ${agent} use ${call.toolName} without asking when only this was read. Other sources and other tools still ask. Undo: Agents → ${agent} → Tools.`}</p>}
          {always && !sources.length && <p className={s.gist}>{`${agent} may use ${call.toolName} ${inRoom ? "in this room" : "everywhere"} without asking, as long as the tool stays as it is. Undo: Agents → ${agent} → Tools.`}</p>}
        </>
      )}
    </Frame>
  );
}

function Value({ field, now, onChange }: { field: Pick<Field, "kind" | "choices">; now: string; onChange(next: string): void }) {
  if (field.kind === "choice" || field.kind === "yes")
    return (
      <select value={now} onChange={(event) => onChange(event.target.value)}>
        {now === "" && <option value="">not given</option>}
        {(field.choices ?? ["true", "false"]).map((each) => (
          <option key={each} value={each}>
            {field.kind === "yes" ? (each === "true" ? "yes" : "no") : each}
          </option>
        ))}
      </select>
    );
  return <input className={field.kind === "json" ? s.exact : undefined} inputMode={field.kind === "number" ? "decimal" : undefined} value={now} spellCheck={false} dir="auto" onChange={(event) => onChange(event.target.value)} />;
}
