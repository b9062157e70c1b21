// What an agent runs on: a model of a connection, its script, or a model by its name.
import { useState } from "react";
import type { Connection } from "../api/nouns";
import p from "../parts/parts.module.css";
import { price } from "../words/en";
import { isScript, useConnections, useOffered } from "./connections";

const SCRIPT = "script";
const OTHER = "other";

type Props = { value: unknown; onChange(model: unknown): void; script?: unknown; label?: string; but?: string; none?: string };

/** `value` is a model as agents have it. `script`: what it played before, to go back to. `but`: not this connection. */
export function ModelPicker({ value, onChange, script, label = "It runs on", but, none }: Props) {
  const connections = useConnections();
  const all = (connections.data?.items ?? []).filter((each) => each.id !== but);
  const { connection, name } = (value ?? {}) as { connection?: string; name?: string };
  const [other, setOther] = useState(() => written(value));
  const [where, setWhere] = useState(() => (connection ?? (value === undefined ? "" : isScript(value) ? SCRIPT : OTHER)));
  const played = isScript(value) ? value : script;
  const pick = (next: string): void => {
    setWhere(next);
    const chosen = all.find((each) => each.id === next);
    if (chosen) onChange({ connection: chosen.id, name: chosen.defaultModel ?? "" });
    else onChange(next === SCRIPT ? (played ?? { provider: "script", turns: [] }) : next === OTHER ? other : undefined);
  };
  return (
    <>
      <label className={p.field}>
        {label}
        <select value={where} onChange={(event) => pick(event.target.value)}>
          {none && <option value="">{none}</option>}
          {all.map((each) => (
            <option key={each.id} value={each.id}>
              {each.name}
            </option>
          ))}
          {(played || !none) && <option value={SCRIPT}>{hasTurns(played) ? "Its script (free, offline)" : "Nothing yet: it stays silent"}</option>}
          <option value={OTHER}>Another model, by its name</option>
        </select>
      </label>
      {all.some((each) => each.id === where) && (
        <OfferedModel key={where} connection={all.find((each) => each.id === where)!} name={connection === where ? (name ?? "") : ""} onChange={(next) => onChange({ connection: where, name: next })} />
      )}
      {where === OTHER && (
        <label className={p.field}>
          Model
          <input
            value={other}
            onChange={(event) => (setOther(event.target.value), onChange(event.target.value.trim()))}
            required
            placeholder="provider:name, such as anthropic:claude-…"
            spellCheck={false}
            autoCapitalize="off"
          />
        </label>
      )}
    </>
  );
}

function hasTurns(script: unknown): boolean {
  return typeof script === "string" || !!(script as { turns?: unknown[]; name?: string } | null)?.turns?.length || !!(script as { name?: string } | null)?.name;
}

function written(model: unknown): string {
  if (typeof model === "string") return isScript(model) ? "" : model;
  const { provider, name, baseUrl } = (model ?? {}) as { provider?: string; name?: string; baseUrl?: string };
  return provider && provider !== "script" && !baseUrl ? `${provider}:${name ?? ""}` : "";
}

function OfferedModel({ connection, name, onChange }: { connection: Connection; name: string; onChange(name: string): void }) {
  const offered = useOffered(connection.id);
  const named = offered.data?.items ?? [];
  const all = name && !named.some((each) => each.name === name) ? [{ name }, ...named] : named;
  const model = named.find((each) => each.name === name);
  return (
    <label className={p.field}>
      Model
      {all.length ? (
        <select value={name} onChange={(event) => onChange(event.target.value)} required>
          {!name && <option value="">Choose one…</option>}
          {all.map((each) => (
            <option key={each.name}>{each.name}</option>
          ))}
        </select>
      ) : (
        <input value={name} onChange={(event) => onChange(event.target.value)} required placeholder={offered.isPending ? "Asking which there are…" : "its name, as the server writes it"} spellCheck={false} />
      )}
      <span className={p.hint}>{offered.data?.message ?? (name ? (model?.price ? `${price(model.price)} for a million tokens` : "No price set, so budgets do not count it.") : "")}</span>
    </label>
  );
}

/** Is it enough to be saved? */
export function isModel(model: unknown): boolean {
  if (typeof model === "string") return model.includes(":");
  const { connection, name, provider } = (model ?? {}) as { connection?: string; name?: string; provider?: string };
  return connection ? !!name : !!provider;
}
