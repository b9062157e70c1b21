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
  { id: "openai", name: "OpenAI, or one that speaks like it", key: "OPENAI_API_KEY", hint: "" },
];

// In the order in which they can fail.
const PARTS: { part: "reached" | "accepted" | "answered"; text: string }[] = [
  { part: "reached", text: "The provider was reached" },
  { part: "accepted", text: "The key and the model's name were accepted" },
  { part: "answered", text: "It answered" },
];

export function ConnectModel({ agentIds, onSaved }: { agentIds: string[]; onSaved(): void }) {
  const [provider, setProvider] = useState("anthropic");
  const [key, setKey] = useState("");
  const [name, setName] = useState("");
  const [check, setCheck] = useState<ModelCheck | null>(null);
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const queries = useQueryClient();
  const chosen = PROVIDERS.find((each) => each.id === provider) ?? PROVIDERS[0]!;

  const submit = async (): Promise<void> => {
    setBusy(true);
    setProblem("");
    setCheck(null);
    const model = `${provider}:${name.trim()}`;
    try {
      const given = key.trim();
      const said = await api.checkModel(given ? { model, apiKey: given } : { model });
      setCheck(said);
      if (!said.answered) return;
      if (given) await api.putVariable(chosen.key, { value: given, type: "secret", description: `Key of ${chosen.name}` });
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
      <label className={p.field}>
        Key
        <input type="password" autoComplete="off" value={key} onChange={(event) => setKey(event.target.value)} placeholder="Leave empty to use the one that is set" />
        <span className={p.hint}>Kept as the secret {chosen.key}. It is never shown again. {chosen.hint}</span>
      </label>
      <label className={p.field}>
        Model
        <input value={name} onChange={(event) => setName(event.target.value)} required placeholder="its name, as the provider writes it" spellCheck={false} />
      </label>
      {check && <Checked check={check} />}
      {problem && <p className={p.problem} role="alert">{problem}</p>}
      <Button look="primary" type="submit" busy={busy} disabled={!name.trim()}>
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
