// Connect a model: a key, a real round trip, and which part failed if it did.
import { useQueryClient } from "@tanstack/react-query";
import { CircleCheck, CircleDashed, CircleX } from "lucide-react";
import { useState } from "react";
import { api } from "../api/client";
import type { ModelCheck } from "../api/nouns";
import { sentence } from "../api/problems";
import { Button } from "../parts/Button";
import p from "../parts/parts.module.css";
import { done } from "../parts/toasts";
import s from "./start.module.css";

const PROVIDERS = [
  { id: "anthropic", name: "Anthropic", key: "ANTHROPIC_API_KEY", hint: "Keys start with sk-ant-." },
  { id: "openai", name: "OpenAI", key: "OPENAI_API_KEY", hint: "" },
  { id: "openai-chat", name: "Another that speaks like OpenAI", key: "", hint: "" },
];

/** The key of a server of one's own has a name of its own: one for OpenAI never goes elsewhere. */
export function keyNameOf(address: string): string {
  const host = /^https?:\/\/([^/?#]+)/i.exec(address.trim())?.[1] ?? "";
  const name = host.slice(0, 100).replace(/[^a-z0-9]+/gi, "_").replace(/^(?=\d)/, "AT_");
  return `${name.toUpperCase() || "MODEL"}_API_KEY`;
}

// In the order in which they can fail.
const PARTS: { part: "reached" | "accepted" | "answered"; text: string }[] = [
  { part: "reached", text: "The provider was reached" },
  { part: "accepted", text: "The key and the model's name were accepted" },
  { part: "answered", text: "It answered" },
];

export function ConnectModel({ agentIds, onSaved }: { agentIds: string[]; onSaved(): void }) {
  const [provider, setProvider] = useState("anthropic");
  const [key, setKey] = useState("");
  const [address, setAddress] = useState("");
  const [name, setName] = useState("");
  const [check, setCheck] = useState<ModelCheck | null>(null);
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const queries = useQueryClient();
  const chosen = PROVIDERS.find((each) => each.id === provider) ?? PROVIDERS[0]!;
  const elsewhere = !chosen.key; // at an address that somebody names
  const keyName = chosen.key || keyNameOf(address);

  const submit = async (): Promise<void> => {
    setBusy(true);
    setProblem("");
    setCheck(null);
    const given = key.trim();
    const there = { provider, name: name.trim(), baseUrl: address.trim(), ...(given ? { apiKeyVariable: keyName } : {}) };
    const model = elsewhere ? there : `${provider}:${name.trim()}`;
    try {
      const said = await api.checkModel(given ? { model, apiKey: given } : { model });
      setCheck(said);
      if (!said.answered) return;
      if (given) await api.putVariable(keyName, { value: given, type: "secret", description: `Key of ${elsewhere ? address.trim() : chosen.name}` });
      setKey("");
      for (const id of agentIds) await api.updateAgent(id, { model });
      await queries.invalidateQueries();
      done(agentIds.length === 1 ? "The agent runs on it from its next run on." : `${agentIds.length} agents run on it from now on.`);
      onSaved();
    } catch (error) {
      setProblem(sentence(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      style={{ display: "grid", gap: 14 }}
      aria-label="Connect a model"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <label className={p.field}>
        Provider
        <select value={provider} onChange={(event) => setProvider(event.target.value)}>
          {PROVIDERS.map((each) => (
            <option key={each.id} value={each.id}>
              {each.name}
            </option>
          ))}
        </select>
      </label>
      {elsewhere && (
        <label className={p.field}>
          Address
          <input type="url" value={address} onChange={(event) => setAddress(event.target.value)} required placeholder="the address of its API, up to /v1" spellCheck={false} autoCapitalize="off" />
          <span className={p.hint}>An address in your own network has to be listed by whoever runs the server.</span>
        </label>
      )}
      <label className={p.field}>
        Key
        <input type="password" autoComplete="off" value={key} onChange={(event) => setKey(event.target.value)} placeholder={elsewhere ? "Leave empty if it wants none" : "Leave empty to use the one that is set"} />
        <span className={p.hint}>Kept as the secret {keyName}. It is never shown again. {chosen.hint}</span>
      </label>
      <label className={p.field}>
        Model
        <input value={name} onChange={(event) => setName(event.target.value)} required placeholder="its name, as the provider writes it" spellCheck={false} />
      </label>
      {check && <Checked check={check} />}
      {problem && <p className={p.problem} role="alert">{problem}</p>}
      <Button look="primary" type="submit" busy={busy} disabled={!name.trim() || (elsewhere && !address.trim())}>
        Check and save
      </Button>
    </form>
  );
}

function Checked({ check }: { check: ModelCheck }) {
  const failed = PARTS.findIndex(({ part }) => !check[part]);
  return (
    <ul className={s.checks} role="status">
      {PARTS.map(({ part, text }, at) => (
        <li key={part}>
          {check[part] ? (
            <CircleCheck size={16} color="var(--ok)" aria-label="yes:" />
          ) : at === failed ? (
            <CircleX size={16} color="var(--bad)" aria-label="no:" />
          ) : (
            <CircleDashed size={16} color="var(--faint)" aria-label="not tried:" />
          )}
          <span>
            {text}
            {at === failed && <span className={p.problem}> · {check.message} Nothing was changed.</span>}
          </span>
        </li>
      ))}
    </ul>
  );
}
