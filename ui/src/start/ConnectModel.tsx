// Connect a model: where it is, a look at what is offered there, and who uses it from now on.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { api } from "../api/client";
import type { Agent, Connection, ModelCheck, Offered } from "../api/nouns";
import { useLive } from "../live/store";
import { Button, TextButton } from "../parts/Button";
import { Form } from "../parts/Form";
import { Notice } from "../parts/Notice";
import p from "../parts/parts.module.css";
import { done, toast } from "../parts/toasts";
import { modelWords, offers, price, runsOn } from "../words/en";
import { useAgents } from "../work/data";
import { Checked, Failure } from "./Checked";
import { hostOf, isNear, LOCAL, originOf } from "./near";
import s from "./start.module.css";

const PROVIDERS = [
  { id: "anthropic", name: "Anthropic", hint: "Keys start with sk-ant-." },
  { id: "openai", name: "OpenAI", hint: "Keys start with sk-." },
  { id: "openai-chat", name: "Another server", hint: "Leave it empty if it wants none." },
];

type Found = { connection: Connection; offered: Offered };

export default function ConnectModel({ agentIds, onDone }: { agentIds: string[]; onDone(): void }) {
  const [found, setFound] = useState<Found | null>(null);
  const queries = useQueryClient();
  const refresh = (): void => {
    for (const name of ["connections", "offered", "agents", "agent"]) void queries.invalidateQueries({ queryKey: [name] });
  };
  const connected = (next: Found): void => (setFound(next), refresh());
  return found ? <Use found={found} agentIds={agentIds} onDone={() => (refresh(), onDone())} /> : <Where onConnected={connected} />;
}

// ── where it is ──

function Where({ onConnected }: { onConnected(found: Found): void }) {
  const owner = useLive((state) => state.me?.grants.includes("owner") ?? false);
  const [provider, setProvider] = useState("anthropic");
  const [address, setAddress] = useState("");
  const [key, setKey] = useState("");
  const [failed, setFailed] = useState<Offered | null>(null);
  const [busy, setBusy] = useState("");
  const draft = useDraft();
  const chosen = PROVIDERS.find((each) => each.id === provider) ?? PROVIDERS[0]!;
  const elsewhere = provider === "openai-chat";
  const near = elsewhere && isNear(address);
  // A name may lead into this network although it does not look so. Then its owner is asked once it was tried.
  const leadsNear = failed?.problem === "address" && elsewhere && !near && /not on the public internet/.test(failed.message ?? "");

  const connect = async (where: { provider: string; address: string; key: string; name?: string; open: boolean }): Promise<void> => {
    setBusy(where.name ?? "form");
    setFailed(null);
    try {
      const connection = await draft.put(where);
      const offered = await api.offered(connection.id, true);
      if (offered.problem) setFailed(offered);
      else onConnected({ connection: draft.keep(connection), offered });
    } finally {
      setBusy("");
    }
  };
  const local = (each: { name: string; address: string }): void => {
    setProvider("openai-chat");
    setAddress(each.address);
    setKey("");
    connect({ provider: "openai-chat", address: each.address, key: "", name: each.name, open: true }).catch(toast);
  };
  return (
    <div className={s.connect}>
      <section aria-labelledby="on-this-machine">
        <h3 id="on-this-machine">On the office’s own machine</h3>
        <div className={p.actions}>
          {LOCAL.map((each) => (
            <Button key={each.name} disabled={!owner || !!busy} busy={busy === each.name} onClick={() => local(each)}>
              {each.name} · {hostOf(each.address)}
            </Button>
          ))}
        </div>
        <p className={p.hint}>
          {owner ? "One click connects, and opens exactly this address to models until the connection is deleted." : "Only an owner can open an address in the office’s own network."}
        </p>
      </section>
      <Form
        label="Connect a model" verb={(near || leadsNear) && owner ? "Open it and connect" : "Connect"}
        disabled={!!busy || (elsewhere && !address.trim()) || (near && !owner)}
        onSave={() => connect({ provider, address: elsewhere ? address : "", key: key.trim(), open: (near || leadsNear) && owner })}
      >
        <h3>Somewhere else</h3>
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
            <input type="url" value={address} onChange={(event) => setAddress(event.target.value)} required placeholder="https://models.example.com/v1" spellCheck={false} autoCapitalize="off" />
            <span className={p.hint}>A server that speaks like OpenAI, up to /v1.</span>
          </label>
        )}
        <label className={p.field}>
          Key
          <input type="password" autoComplete="off" value={key} onChange={(event) => setKey(event.target.value)} placeholder={elsewhere ? "" : "Leave empty to use the one that is set"} />
          <span className={p.hint}>Sealed, and never shown again. {chosen.hint}</span>
        </label>
        {(near || leadsNear) && (
          <Notice tone="warn">
            {owner
              ? `${originOf(address)} is in the office’s own network. Connecting opens exactly this address to models, until the connection is deleted.`
              : "This address is in the office’s own network. Only an owner can open it."}
          </Notice>
        )}
        {failed && <Failure problem={failed.problem} message={failed.message ?? ""} />}
      </Form>
    </div>
  );
}

type Draft = { connection: Connection; provider: string };

/** A connection that does not work yet: changed with each try, and gone if nobody gets it to work. */
function useDraft() {
  const draft = useRef<Draft | null>(null);
  const drop = async (): Promise<void> => {
    const made = draft.current;
    draft.current = null;
    if (made) await api.deleteConnection(made.connection.id).catch(() => undefined);
  };
  useEffect(() => () => void drop(), []);
  return {
    keep: (connection: Connection): Connection => {
      draft.current = null;
      return connection;
    },
    put: async ({ provider, address, key, name, open }: { provider: string; address: string; key: string; name?: string; open: boolean }): Promise<Connection> => {
      await drop();
      const body = {
        provider,
        ...(address ? { baseUrl: address.trim() } : {}),
        ...(key ? { apiKey: key } : {}),
        ...(open ? { confirm: originOf(address) } : {}),
      };
      const connection = await api.connect(body);
      draft.current = { connection, provider };
      if (!name) return connection;
      // Ours only if nobody has called another one so.
      return api.updateConnection(connection.id, { name }).catch(() => connection);
    },
  };
}

// ── who uses it ──

function Use({ found, agentIds, onDone }: { found: Found; agentIds: string[]; onDone(): void }) {
  const { connection, offered } = found;
  const agents = useAgents();
  const connections = useQuery({ queryKey: ["connections"], queryFn: () => api.connections() });
  const named = offered.items;
  const [name, setName] = useState(() => (named.find((each) => each.price) ?? named[0])?.name ?? "");
  const [chosen, setChosen] = useState<ReadonlySet<string>>(() => new Set(agentIds));
  const [standard, setStandard] = useState<boolean | null>(null);
  const [check, setCheck] = useState<ModelCheck | null>(null);
  const isFirst = connections.data ? !connections.data.items.some((each) => each.defaultModel) : false;
  const forNew = standard ?? isFirst;
  const all = [...(agents.data?.items ?? [])].sort((a, b) => a.name.localeCompare(b.name));
  const model = named.find((each) => each.name === name);

  const use = async (): Promise<void> => {
    setCheck(null);
    const spec = { connection: connection.id, name: name.trim() };
    const said = await api.checkModel({ model: spec });
    setCheck(said);
    if (!said.answered) return;
    const moved = all.filter((agent) => chosen.has(agent.id));
    for (const agent of moved) await api.updateAgent(agent.id, { model: spec });
    if (forNew) await api.updateConnection(connection.id, { defaultModel: spec.name });
    if (moved.length) done(runsOn(moved.map((agent) => agent.name)), () => void moveBack(moved));
    else done(`${connection.name} is connected.`);
    onDone();
  };
  return (
    <Form label="Use the model" verb="Check and use" onSave={use} onCancel={onDone} cancel="Not now" disabled={!name.trim()}>
      <Notice tone="ok">
        {connection.name} is connected. {offers(named.length)}
      </Notice>
      <label className={p.field}>
        Model
        {named.length ? (
          <select value={name} onChange={(event) => setName(event.target.value)} autoFocus>
            {named.map((each) => (
              <option key={each.name}>{each.name}</option>
            ))}
          </select>
        ) : (
          <input value={name} onChange={(event) => setName(event.target.value)} required placeholder="its name, as the server writes it" spellCheck={false} autoFocus />
        )}
        <span className={p.hint}>{model?.price ? `${price(model.price)} for a million tokens` : "No price set, so budgets do not count it. Set one under Models."}</span>
      </label>
      <Agents all={all} chosen={chosen} onChange={setChosen} />
      <label className={p.check}>
        <input type="checkbox" checked={forNew} onChange={(event) => setStandard(event.target.checked)} />
        New agents run on it
      </label>
      {check && <Checked check={check} />}
    </Form>
  );
}

async function moveBack(agents: readonly Agent[]): Promise<void> {
  try {
    for (const agent of agents) await api.updateAgent(agent.id, { model: agent.model });
  } catch (error) {
    toast(error);
  }
}

function Agents({ all, chosen, onChange }: { all: readonly Agent[]; chosen: ReadonlySet<string>; onChange(next: ReadonlySet<string>): void }) {
  if (!all.length) return null;
  const toggle = (id: string): void => {
    const next = new Set(chosen);
    if (!next.delete(id)) next.add(id);
    onChange(next);
  };
  const whole = all.every((agent) => chosen.has(agent.id));
  return (
    <fieldset className={s.agents}>
      <legend>
        Who runs on it from now on?{" "}
        {all.length > 1 && <TextButton onClick={() => onChange(new Set(whole ? [] : all.map((agent) => agent.id)))}>{whole ? "None" : "All"}</TextButton>}
      </legend>
      <div>
        {all.map((agent) => (
          <label key={agent.id} className={p.check}>
            <input type="checkbox" checked={chosen.has(agent.id)} onChange={() => toggle(agent.id)} />
            <bdi>{agent.name}</bdi>
            <small>now: {modelWords(agent.model)}</small>
          </label>
        ))}
      </div>
    </fieldset>
  );
}
