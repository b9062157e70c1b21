// Models: the connections of this office, what they offer and cost, and who uses them.
import { useQueryClient } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { useEffect, useState } from "react";
import { Link } from "wouter";
import { api } from "../api/client";
import type { Connection, ModelCheck, OfferedModel } from "../api/nouns";
import { nameOf } from "../rooms/names";
import { useLive } from "../live/store";
import { Button, TextButton } from "../parts/Button";
import { Dialog } from "../parts/Dialog";
import { Form } from "../parts/Form";
import { Empty, Failed, Notice, Skeleton } from "../parts/Notice";
import p from "../parts/parts.module.css";
import { done, toast } from "../parts/toasts";
import { Checked, Failure } from "../start/Checked";
import ConnectModel from "../start/ConnectModel";
import { isNear, originOf } from "../start/near";
import { count, number, uses } from "../words/en";
import { useConnections, useOffered } from "./connections";
import { PageHead } from "./Head";
import { isModel, ModelPicker } from "./ModelPicker";
import m from "./models.module.css";
import s from "./work.module.css";

export default function Models() {
  const manages = useLive((state) => state.me?.grants.includes("manage_agents") ?? false);
  const connections = useConnections();
  const [making, setMaking] = useState(false);
  useEffect(() => {
    document.title = "Models · Bullpen";
  }, []);
  return (
    <main className={s.page} id="main">
      <PageHead title="Models" count={connections.data?.items.length || undefined}>
        {manages && (
          <Button look="primary" onClick={() => setMaking(true)}>
            <Plus size={15} aria-hidden /> Connect a model
          </Button>
        )}
      </PageHead>
      <div className={s.scroll}>
        {!manages ? (
          <Empty title="Models are for those who look after agents">
            <p>Ask an owner for the role admin.</p>
          </Empty>
        ) : connections.isPending ? (
          <Skeleton rows={3} />
        ) : connections.error ? (
          <Failed error={connections.error} onRetry={() => void connections.refetch()} />
        ) : !connections.data.items.length ? (
          <Empty title="No model is connected yet">
            <p>Connect a provider with its key, or a server of your own such as Ollama or LM Studio. Until then agents follow a script, which is free.</p>
          </Empty>
        ) : (
          connections.data.items.map((each) => <One key={each.id} connection={each} />)
        )}
      </div>
      <Dialog title="Connect a model" open={making} onClose={() => setMaking(false)}>
        <ConnectModel agentIds={[]} onDone={() => setMaking(false)} />
      </Dialog>
    </main>
  );
}

function useRefresh(): () => void {
  const queries = useQueryClient();
  return () => {
    for (const name of ["connections", "offered", "agents", "agent"]) void queries.invalidateQueries({ queryKey: [name] });
  };
}

function One({ connection }: { connection: Connection }) {
  const [open, setOpen] = useState<"edit" | "remove" | null>(null);
  const members = useLive((state) => state.members);
  const close = (): void => setOpen(null);
  return (
    <section className={m.connection} aria-labelledby={connection.id}>
      <header>
        <div>
          <h2 id={connection.id}>
            <bdi>{connection.name}</bdi>
          </h2>
          <small>{connection.baseUrl ?? "at its provider’s own address"}</small>
        </div>
        {connection.needsConfirming && <span className={s.chip} data-tone="warn">not opened yet</span>}
        {connection.apiKeyVariable && (
          <span className={s.chip} data-tone={connection.hasKey ? "ok" : "bad"}>
            {connection.hasKey ? "key set" : "key missing"}
          </span>
        )}
        <div className={s.push}>
          <Button onClick={() => setOpen("edit")}>Edit</Button>
          <Button onClick={() => setOpen("remove")}>Remove…</Button>
        </div>
      </header>
      <div className={m.inside}>
        {connection.needsConfirming && <Confirm connection={connection} />}
        <p className={m.uses}>
          {connection.agents.length
            ? connection.agents.map((id, at) => (
                <span key={id}>
                  {at > 0 && ", "}
                  <Link href={`/agents/${id}?tab=Model+and+limits`}>{nameOf(members, id)}</Link>
                </span>
              ))
            : "No agent"}{" "}
          {connection.agents.length === 1 || !connection.agents.length ? "runs on it." : "run on it."}
          {connection.defaultModel && ` New agents run on ${connection.defaultModel}.`}
        </p>
        <Offered connection={connection} />
      </div>
      <Dialog title={`Edit ${connection.name}`} open={open === "edit"} onClose={close}>
        <Edit connection={connection} onDone={close} />
      </Dialog>
      <Dialog title={`Remove ${connection.name}`} open={open === "remove"} onClose={close}>
        <Remove connection={connection} onDone={close} />
      </Dialog>
    </section>
  );
}

function Confirm({ connection }: { connection: Connection }) {
  const owner = useLive((state) => state.me?.grants.includes("owner") ?? false);
  const refresh = useRefresh();
  const origin = originOf(connection.baseUrl ?? "");
  const open = async (): Promise<void> => {
    try {
      await api.updateConnection(connection.id, { confirm: origin });
      refresh();
    } catch (error) {
      toast(error);
    }
  };
  return (
    <Notice tone="warn">
      <p>{owner ? `${origin} is in the office’s own network. Models are not asked there before you open it; it is closed again when the connection is deleted.` : "This address is in the office’s own network. An owner has to open it here."}</p>
      {owner && <Button onClick={() => void open()}>Open {origin}</Button>}
    </Notice>
  );
}

// ── its models ──

const SHOWN = 8;

function Offered({ connection }: { connection: Connection }) {
  const offered = useOffered(connection.id);
  const [all, setAll] = useState(false);
  const [find, setFind] = useState("");
  if (offered.isPending) return <Skeleton rows={1} />;
  if (offered.error) return <Failed error={offered.error} onRetry={() => void offered.refetch()} />;
  const { items, problem, message } = offered.data;
  const found = items.filter((each) => each.name.toLowerCase().includes(find.toLowerCase()));
  const shown = all || find ? found : found.slice(0, SHOWN);
  return (
    <>
      {problem && !connection.needsConfirming && (
        <div>
          <Failure problem={problem} message={message ?? ""} />
          <TextButton onClick={() => void api.offered(connection.id, true).then(() => offered.refetch(), toast)}>Try again</TextButton>
        </div>
      )}
      {items.length > SHOWN && (
        <div className={m.filter}>
          <input className={p.input} type="search" aria-label={`Find a model of ${connection.name}`} placeholder="Find a model" value={find} onChange={(event) => setFind(event.target.value)} />
          {!find && <TextButton onClick={() => setAll(!all)}>{all ? "Show fewer" : `Show all ${number(items.length)}`}</TextButton>}
        </div>
      )}
      {shown.length > 0 && (
        <div className={m.wide} role="group" tabIndex={0} aria-label={`Models of ${connection.name}, to scroll`}>
          <table className={m.table} aria-label={`Models of ${connection.name}`}>
            <thead>
              <tr>
                <th scope="col">Model</th>
                <th scope="col" className={m.num}>In</th>
                <th scope="col" className={m.num}>Out</th>
                <th scope="col" className={m.num}>Cached</th>
                <th scope="col" className={m.num}>Context</th>
                <th scope="col">
                  <span className="unseen">What to do</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {shown.map((each) => (
                <Row key={each.name} connection={connection} model={each} />
              ))}
            </tbody>
          </table>
          <p className={p.hint}>Dollars for a million tokens.</p>
        </div>
      )}
      {!items.length && !problem && <p className={p.hint}>It does not say which models it offers. Give an agent one by its name.</p>}
    </>
  );
}

function Row({ connection, model }: { connection: Connection; model: OfferedModel }) {
  const [pricing, setPricing] = useState(false);
  const [check, setCheck] = useState<ModelCheck | null>(null);
  const [busy, setBusy] = useState(false);
  const refresh = useRefresh();
  const standard = connection.defaultModel === model.name;
  const test = async (): Promise<void> => {
    setBusy(true);
    try {
      setCheck(await api.checkModel({ model: { connection: connection.id, name: model.name } }));
    } catch (error) {
      toast(error);
    } finally {
      setBusy(false);
    }
  };
  const choose = async (): Promise<void> => {
    try {
      await api.updateConnection(connection.id, { defaultModel: standard ? null : model.name });
      refresh();
    } catch (error) {
      toast(error);
    }
  };
  const { price } = model;
  const narrow = matchMedia("(max-width: 720px)").matches; // a thumb finds them under the name, not beyond the edge
  const acts = (
    <div className={m.acts}>
      <Button look="quiet" aria-label={`Price of ${model.name}`} onClick={() => setPricing(true)}>
        Price
      </Button>
      <Button look="quiet" aria-label={`Default for new agents: ${model.name}`} aria-pressed={standard} onClick={() => void choose()}>
        Default
      </Button>
      <Button look="quiet" aria-label={`Check ${model.name}`} busy={busy} onClick={() => void test()}>
        Check
      </Button>
    </div>
  );
  return (
    <>
      <tr>
        <td>
          {model.name} {standard && <span className={s.chip} data-tone="ok">new agents</span>}
          {narrow && acts}
        </td>
        {price ? (
          <>
            <td className={m.num}>{price.input}</td>
            <td className={m.num}>{price.output}</td>
            <td className={m.num}>{price.cached ?? price.input}</td>
          </>
        ) : (
          <td className={m.num} colSpan={3}>
            No price set
          </td>
        )}
        <td className={m.num}>{model.contextTokens ? number(model.contextTokens) : "–"}</td>
        <td>
          {!narrow && acts}
          <Dialog title={`Price of ${model.name}`} open={pricing} onClose={() => setPricing(false)}>
            <Price connection={connection} model={model} onDone={() => setPricing(false)} />
          </Dialog>
        </td>
      </tr>
      {check && (
        <tr className={m.checkrow}>
          <td colSpan={6}>
            <Checked check={check} />
          </td>
        </tr>
      )}
    </>
  );
}

const FIELDS = [
  ["input", "In"],
  ["output", "Out"],
  ["cached", "Cached"],
] as const;

function Price({ connection, model, onDone }: { connection: Connection; model: OfferedModel; onDone(): void }) {
  const [said, setSaid] = useState<Record<string, string>>(() => Object.fromEntries(FIELDS.map(([key]) => [key, String(model.price?.[key] ?? "")])));
  const [context, setContext] = useState(model.contextTokens ? String(model.contextTokens) : "");
  const refresh = useRefresh();
  const save = async (price: object | null): Promise<void> => {
    await api.updateConnection(connection.id, { models: { [model.name]: { price, contextTokens: context ? Number(context) : null } } });
    refresh();
    onDone();
  };
  const price = { input: Number(said.input), output: Number(said.output), cached: said.cached === "" ? null : Number(said.cached) };
  return (
    <Form
      verb="Save" onCancel={onDone} onSave={() => save(said.input === "" && said.output === "" ? null : price)}
      more={model.ownPrice && <Button onClick={() => void save(null).catch(toast)}>Take the price away</Button>}
    >
      <p className={p.hint}>Dollars for a million tokens; 0 if it is free. Budgets and costs count with them from the next answer on.</p>
      <div className={m.prices}>
        {FIELDS.map(([key, label], at) => (
          <label key={key} className={p.field}>
            {label}
            <input type="number" min={0} step="any" value={said[key]} required={key !== "cached" && (said.input !== "" || said.output !== "")} autoFocus={at === 0} onChange={(event) => setSaid({ ...said, [key]: event.target.value })} />
          </label>
        ))}
      </div>
      <label className={p.field}>
        Context size, in tokens
        <input type="number" min={1000} step={1} value={context} onChange={(event) => setContext(event.target.value)} />
        <span className={p.hint}>The most it takes at once. Prompts are kept below it.</span>
      </label>
    </Form>
  );
}

// ── changing and ending one ──

function Edit({ connection, onDone }: { connection: Connection; onDone(): void }) {
  const owner = useLive((state) => state.me?.grants.includes("owner") ?? false);
  const [name, setName] = useState(connection.name);
  const [address, setAddress] = useState(connection.baseUrl ?? "");
  const [key, setKey] = useState("");
  const refresh = useRefresh();
  const moved = address.trim() !== (connection.baseUrl ?? "");
  const opens = moved && isNear(address);
  const save = async (): Promise<void> => {
    await api.updateConnection(connection.id, {
      ...(name.trim() === connection.name ? {} : { name: name.trim() }),
      ...(moved ? { baseUrl: address.trim() || null } : {}),
      ...(key.trim() ? { apiKey: key.trim() } : {}),
      ...(opens && owner ? { confirm: originOf(address) } : {}),
    });
    refresh();
    done("Saved");
    onDone();
  };
  return (
    <Form verb="Save" onSave={save} onCancel={onDone}>
      <label className={p.field}>
        Name
        <input value={name} onChange={(event) => setName(event.target.value)} required autoFocus />
      </label>
      {connection.baseUrl && (
        <label className={p.field}>
          Address
          <input type="url" value={address} onChange={(event) => setAddress(event.target.value)} required spellCheck={false} />
          <span className={p.hint}>{opens && owner ? `Saving opens ${originOf(address)} to models. ` : ""}To another address the key does not go along: give it again.</span>
        </label>
      )}
      <label className={p.field}>
        Key
        <input type="password" autoComplete="off" value={key} onChange={(event) => setKey(event.target.value)} placeholder={connection.hasKey ? "Leave empty to keep the one that is set" : ""} />
        <span className={p.hint}>{connection.apiKeyVariable ? `Sealed as the variable ${connection.apiKeyVariable}. ` : ""}It is never shown.</span>
      </label>
    </Form>
  );
}

function Remove({ connection, onDone }: { connection: Connection; onDone(): void }) {
  const members = useLive((state) => state.members);
  const [model, setModel] = useState<unknown>(undefined);
  const refresh = useRefresh();
  const using = connection.agents;
  const remove = async (): Promise<void> => {
    for (const id of using) await api.updateAgent(id, { model: model ?? (await api.agent(id)).script ?? { provider: "script", turns: [] } });
    await api.deleteConnection(connection.id);
    refresh();
    done(`${connection.name} is removed.`);
    onDone();
  };
  return (
    <Form verb={using.length ? "Move them and remove it" : "Remove it"} look="danger" onSave={remove} onCancel={onDone} disabled={model !== undefined && !isModel(model)}>
      <p>The key that was given with it is deleted{connection.confirmed ? `, and ${connection.confirmed} is closed again` : ""}. What was spent stays in Costs.</p>
      {using.length > 0 && (
        <>
          <Notice tone="warn">{uses(using.map((id) => nameOf(members, id)))}</Notice>
          <ModelPicker value={model} onChange={setModel} but={connection.id} none="Their own scripts" label={`What ${count(using.length, "agent")} will run on instead`} />
        </>
      )}
    </Form>
  );
}
