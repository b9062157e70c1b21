// What may be spent, by whom, and how far that is used.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { useState } from "react";
import { useSearchParams } from "wouter";
import { api } from "../api/client";
import type { Budget } from "../api/nouns";
import type { State } from "../live/state";
import { useLive } from "../live/store";
import { Button } from "../parts/Button";
import { Dialog } from "../parts/Dialog";
import { Form } from "../parts/Form";
import { Failed, Skeleton } from "../parts/Notice";
import p from "../parts/parts.module.css";
import { done, toast } from "../parts/toasts";
import { nameOf, titleOf } from "../rooms/names";
import { budgetKind, budgetSays, period } from "../words/en";
import { useAgents } from "./data";
import { dropLimit, putLimit } from "./limits";
import m from "./models.module.css";
import s from "./work.module.css";

type Draft = { kind: Budget["kind"]; subjectId: string; period: Budget["period"]; unit: Budget["unit"]; amount: string; given?: Budget };

export function Budgets() {
  const budgets = useQuery({ queryKey: ["usage", "budgets"], queryFn: () => api.budgets() });
  const queries = useQueryClient();
  const state = useLive((all) => all);
  const [search, setSearch] = useSearchParams();
  const [draft, setDraft] = useState<Draft | null>(null);
  const refresh = (): void => {
    for (const name of ["usage", "agents", "agent"]) void queries.invalidateQueries({ queryKey: [name] });
  };
  // Whoever comes from where a budget stopped somebody finds it open.
  const wanted = budgets.data?.items.find((each) => each.id === search.get("budget"));
  const shown = draft ?? (wanted ? draftOf(wanted) : null);
  const close = (): void => {
    setDraft(null);
    if (search.has("budget")) setSearch((before) => (before.delete("budget"), before), { replace: true });
  };
  return (
    <section className={m.block} aria-labelledby="budgets">
      <header>
        <h2 id="budgets">Budgets</h2>
        <div className={s.push}>
          <Button onClick={() => setDraft({ kind: "office", subjectId: "", period: "day", unit: "USD", amount: "" })}>
            <Plus size={15} aria-hidden /> New budget
          </Button>
        </div>
      </header>
      {budgets.isPending ? (
        <Skeleton rows={2} />
      ) : budgets.error ? (
        <Failed error={budgets.error} onRetry={() => void budgets.refetch()} />
      ) : !budgets.data.items.length ? (
        <p className={p.hint}>No budgets yet. With one, work waits when so much is spent in a day or a month.</p>
      ) : (
        [...budgets.data.items].sort((a, b) => share(b) - share(a)).map((each) => <Row key={each.id} budget={each} state={state} onEdit={() => setDraft(draftOf(each))} onChanged={refresh} />)
      )}
      <Dialog title={shown?.given ? `Limit of ${whose(shown.given, state)}` : "New budget"} open={!!shown} onClose={close}>
        {shown && <Edit key={shown.given?.id ?? "new"} draft={shown} onDone={() => (refresh(), close())} onCancel={close} />}
      </Dialog>
    </section>
  );
}

const share = (budget: Budget): number => (budget.spent ?? 0) / Math.max(budget.amount + (budget.extra ?? 0), 1e-9);
const draftOf = (budget: Budget): Draft => ({ kind: budget.kind, subjectId: budget.subjectId ?? "", period: budget.period, unit: budget.unit, amount: String(budget.amount), given: budget });

function whose(budget: Budget, state: State): string {
  const id = budget.subjectId ?? "";
  if (budget.kind === "office") return "The whole office";
  if (budget.kind === "space") return state.spaces[id] ? titleOf(state.spaces[id], state) : "a room you are not in";
  return budget.kind === "task" ? "a task" : nameOf(state.members, id);
}

function Row({ budget, state, onEdit, onChanged }: { budget: Budget; state: State; onEdit(): void; onChanged(): void }) {
  const used = share(budget);
  const name = whose(budget, state);
  const take = async (): Promise<void> => {
    try {
      await dropLimit(budget);
      onChanged();
      done("The limit is gone.", () => void putLimit(budget, budget.amount).then(onChanged, toast));
    } catch (error) {
      toast(error);
    }
  };
  return (
    <div className={m.budget}>
      <span>
        <b>
          <bdi>{name}</bdi>
        </b>
        <small>
          {period[budget.period]}
          {budget.origin === "limits" && " · set on the agent’s page"}
        </small>
      </span>
      <span>
        <span className={m.track} role="meter" aria-label={`Used of ${name}, ${period[budget.period]}`} aria-valuemin={0} aria-valuemax={100} aria-valuenow={Math.min(100, Math.round(used * 100))} data-near={used >= 0.8 || undefined} data-reached={budget.reached || undefined}>
          <i style={{ inlineSize: `${Math.min(100, used * 100)}%` }} />
        </span>
        <small>
          {budgetSays({ ...budget, spent: budget.spent ?? 0 })}
          {budget.reached && " · used up: work that falls under it waits"}
        </small>
      </span>
      <span className={p.actions}>
        <Button look={budget.reached ? "primary" : undefined} aria-label={`${budget.reached ? "Raise the limit" : "Change the limit"} of ${name}`} onClick={onEdit}>
          {budget.reached ? "Raise the limit" : "Change"}
        </Button>
        <Button look="quiet" aria-label={`Delete the limit of ${name}`} onClick={() => void take()}>
          Delete
        </Button>
      </span>
    </div>
  );
}

function Edit({ draft, onDone, onCancel }: { draft: Draft; onDone(): void; onCancel(): void }) {
  const [said, setSaid] = useState(draft);
  const { given } = draft;
  const save = async (): Promise<void> => {
    await putLimit(given ?? said, Number(said.amount));
    done(given?.reached ? "The limit is changed. What waited goes on, if it may." : "Saved");
    onDone();
  };
  return (
    <Form verb="Save" onSave={save} onCancel={onCancel} disabled={said.amount === "" || (said.kind !== "office" && !said.subjectId)}>
      {given ? <p className={p.hint}>Spent: {budgetSays({ ...given, spent: given.spent ?? 0 })}, {period[given.period]}.</p> : <Subject said={said} onChange={setSaid} />}
      <label className={p.field}>
        {said.unit === "tokens" ? "At most, in tokens" : "At most, in dollars"}
        <input type="number" min={0} step="any" value={said.amount} onChange={(event) => setSaid({ ...said, amount: event.target.value })} required autoFocus={!!given} />
      </label>
    </Form>
  );
}

function Subject({ said, onChange }: { said: Draft; onChange(next: Draft): void }) {
  const owner = useLive((state) => state.me?.grants.includes("owner") ?? false);
  const kinds = owner ? (["office", "agent", "space", "person"] as const) : (["agent", "space"] as const);
  const choices = useSubjects(said.kind);
  return (
    <>
      <label className={p.field}>
        For
        <select value={said.kind} onChange={(event) => onChange({ ...said, kind: event.target.value as Draft["kind"], subjectId: "" })} autoFocus>
          {kinds.map((each) => (
            <option key={each} value={each}>
              {budgetKind[each]}
            </option>
          ))}
        </select>
      </label>
      {said.kind !== "office" && (
        <label className={p.field}>
          Which
          <select value={said.subjectId} onChange={(event) => onChange({ ...said, subjectId: event.target.value })} required>
            <option value="">Choose…</option>
            {choices.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </select>
        </label>
      )}
      <label className={p.field}>
        In
        <select value={said.period} onChange={(event) => onChange({ ...said, period: event.target.value as Draft["period"] })}>
          <option value="day">a day</option>
          <option value="month">a month</option>
        </select>
      </label>
      <label className={p.field}>
        Counted in
        <select value={said.unit} onChange={(event) => onChange({ ...said, unit: event.target.value as Draft["unit"] })}>
          <option value="USD">dollars</option>
          <option value="tokens">tokens</option>
        </select>
      </label>
    </>
  );
}

function useSubjects(kind: Draft["kind"]): { id: string; name: string }[] {
  const state = useLive((all) => all);
  const agents = useAgents();
  const people = useQuery({ queryKey: ["people"], queryFn: () => api.people(), enabled: kind === "person" });
  const found =
    kind === "agent" ? (agents.data?.items ?? []).map(({ id, name }) => ({ id, name }))
    : kind === "space" ? Object.values(state.spaces).map((space) => ({ id: space.id, name: titleOf(space, state) }))
    : kind === "person" ? (people.data?.items ?? []).map(({ id, name }) => ({ id, name }))
    : [];
  return found.sort((a, b) => a.name.localeCompare(b.name));
}
