import { KeyRound } from "lucide-react";
import { useState } from "react";
import { useLive } from "../live/store";
import { Args, Exact } from "../parts/Args";
import { Button } from "../parts/Button";
import p from "../parts/parts.module.css";
import { useName } from "../rooms/names";
import { Who } from "../rooms/Who";
import { keptFor, keptIn } from "../words/en";
import s from "./cards.module.css";
import { Frame, Outcome } from "./Frame";
import { type Scope, scopesFor } from "./needs";
import type { Call, CardProps } from "./types";

type Answer = { env: Record<string, string>; scope?: Scope };

/** Values that a call needs. What is typed is kept nowhere but in the fields, and is gone with them. */
export function Values({ call, mayAnswer, answer }: CardProps<Record<string, unknown>, Answer>) {
  const agent = useName(call.agentId);
  const me = useLive((state) => state.me);
  const [typed, setTyped] = useState<Record<string, string>>({});
  const space = useLive((state) => (call.spaceId ? state.spaces[call.spaceId] : undefined));
  const needs = call.needs ?? [];
  const scopes = scopesFor(needs, me?.id ?? "", me?.grants ?? [], space);
  const [chosen, setChosen] = useState<Scope>();
  const scope = chosen ?? scopes[0];
  const over = call.status !== "requires_action";
  const full = needs.every((need) => typed[need.name]?.trim());
  const isAsked = (): boolean => scope === needs[0]?.scope.kind && needs.every((need) => need.scope.kind === scope);

  const give = async (): Promise<void> => {
    const env = Object.fromEntries(needs.map((need) => [need.name, typed[need.name] ?? ""]));
    const done = await answer(isAsked() ? { env } : { env, scope });
    if (done.ok) setTyped({});
  };

  return (
    <Frame
      icon={<KeyRound size={16} aria-hidden />}
      title={<><Who id={call.agentId} exact /> needs {needs.length === 1 ? "a value" : "values"} for <code><Exact text={call.toolName} /></code></>}
      label={`Values wanted: ${call.toolName}`}
      call={call}
    >
      {Object.keys(call.args).length > 0 && <Args args={call.args} />}
      {over ? (
        <Outcome call={call} words={`gave ${needs.map((need) => need.name).join(", ") || "the values"}`} />
      ) : (
        <form
          className={s.edit}
          autoComplete="off"
          onSubmit={(event) => {
            event.preventDefault();
            if (mayAnswer && full) void give();
          }}
        >
          {needs.map((need) => (
            <label key={need.name} className={p.field}>
              <code><Exact text={need.name} /></code>
              <input
                type={need.type === "secret" ? "password" : "text"}
                autoComplete={need.type === "secret" ? "new-password" : "off"}
                spellCheck={false}
                disabled={!mayAnswer}
                value={typed[need.name] ?? ""}
                onChange={(event) => setTyped({ ...typed, [need.name]: event.target.value })}
              />
              {need.description && <span className={s.gist}>{need.description}</span>}
              {need.sentTo && <span className={s.gist}>Sent to <code><Exact text={need.sentTo} /></code></span>}
            </label>
          ))}
          {mayAnswer && scopes.length > 1 && (
            <label className={p.field}>
              Kept for
              <select value={scope} onChange={(event) => setChosen(event.target.value as Scope)}>
                {scopes.map((each) => (
                  <option key={each} value={each}>{keptIn[each]}</option>
                ))}
              </select>
            </label>
          )}
          <div className={s.acts}>
            <Button type="submit" look="primary" disabled={!mayAnswer || !full}>Give {needs.length === 1 ? "it" : "them"}</Button>
            {!mayAnswer && <WhoGives call={call} />}
          </div>
          {mayAnswer && scope && <p className={s.gist}>{keptFor(agent, call.toolName, scope)}</p>}
        </form>
      )}
    </Frame>
  );
}

function WhoGives({ call }: { call: Call }) {
  const person = call.needs?.find((need) => need.scope.kind === "person")?.scope.id;
  return <span className={s.gist}>{person ? <>For <Who id={person} />, or somebody who manages agents, to give.</> : "Somebody who manages agents gives it."}</span>;
}
