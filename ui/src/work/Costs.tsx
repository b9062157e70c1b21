// Costs: what was spent by day, agent, room, model and person, and what may be spent.
import { useQuery } from "@tanstack/react-query";
import { Download } from "lucide-react";
import { useEffect } from "react";
import { Link, useSearchParams } from "wouter";
import { api } from "../api/client";
import type { UsageRow } from "../api/nouns";
import type { State } from "../live/state";
import { useLive } from "../live/store";
import { Button } from "../parts/Button";
import { Empty, Failed, Notice, Skeleton } from "../parts/Notice";
import p from "../parts/parts.module.css";
import { nameOf, titleOf } from "../rooms/names";
import { number, spent, usageBy } from "../words/en";
import { Budgets } from "./Budgets";
import { download } from "./csv";
import { PageHead } from "./Head";
import m from "./models.module.css";
import s from "./work.module.css";

const BY = ["day", "agent", "space", "model", "person"] as const;
type By = (typeof BY)[number];
const DAYS = [7, 30, 90, 365];
const DAY = 86_400_000;

export default function Costs() {
  const may = useLive((state) => state.me?.grants.includes("manage_agents") ?? false);
  const [search, setSearch] = useSearchParams();
  const by = BY.find((each) => each === search.get("by")) ?? "day";
  const days = DAYS.find((each) => String(each) === search.get("days")) ?? 30;
  const usage = useQuery({ queryKey: ["usage", by, days], queryFn: () => api.usage(by, days), enabled: may });
  const state = useLive((all) => all);
  useEffect(() => {
    document.title = "Costs · Bullpen";
  }, []);
  const set = (name: string, value: string): void => setSearch((before) => (before.set(name, value), before), { replace: true });
  const items = usage.data?.items ?? [];
  const rows = by === "day" ? wholeDays(items, days) : items;
  const named = (row: UsageRow): string => called(row, by, state);
  const save = (): void =>
    download(`costs-by-${by}.csv`, [
      [usageBy[by], "id", "runs", "steps", "input tokens", "cached tokens", "output tokens", "dollars", "steps without a price"],
      ...rows.map((row) => [named(row), row.id, row.runs, row.steps, row.inputTokens, row.cachedTokens, row.outputTokens, row.cost, row.unpriced]),
    ]);
  return (
    <main className={s.page} id="main">
      <PageHead title="Costs">
        {may && (
          <>
            <select aria-label="How far back" value={days} onChange={(event) => set("days", event.target.value)}>
              {DAYS.map((each) => (
                <option key={each} value={each}>
                  {each === 365 ? "A year" : `${each} days`}
                </option>
              ))}
            </select>
            <Button onClick={save} disabled={!items.length}>
              <Download size={15} aria-hidden /> CSV
            </Button>
          </>
        )}
      </PageHead>
      <div className={s.scroll}>
        {!may ? (
          <Empty title="Costs are for those who look after agents">
            <p>Ask an owner for the role admin.</p>
          </Empty>
        ) : (
          <>
            <section className={m.block} aria-label="What was spent">
              <header>
                <div className={m.segments} role="group" aria-label="By">
                  {BY.map((each) => (
                    <button key={each} type="button" aria-pressed={by === each} onClick={() => set("by", each)}>
                      {usageBy[each]}
                    </button>
                  ))}
                </div>
              </header>
              {usage.isPending ? (
                <Skeleton rows={3} />
              ) : usage.error ? (
                <Failed error={usage.error} onRetry={() => void usage.refetch()} />
              ) : !items.length ? (
                <Empty title="Nothing was used yet">
                  <p>Costs are counted from an agent’s first answer on.</p>
                </Empty>
              ) : (
                <Spent by={by} rows={rows} named={named} days={days} />
              )}
            </section>
            <Budgets />
          </>
        )}
      </div>
    </main>
  );
}

/** Days without an answer are there, too: else a chart would lie. */
function wholeDays(items: readonly UsageRow[], days: number): UsageRow[] {
  const today = Math.floor(Date.now() / DAY) * DAY;
  const known = new Map(items.map((row) => [row.id, row]));
  const first = Math.min(...items.map((row) => Date.parse(row.id)), today - (Math.min(days, 30) - 1) * DAY);
  const shown: UsageRow[] = [];
  for (let at = first; at <= today; at += DAY) {
    const id = new Date(at).toISOString().slice(0, 10);
    shown.push(known.get(id) ?? ({ id, runs: 0, steps: 0, inputTokens: 0, outputTokens: 0, cachedTokens: 0, writtenTokens: 0, unpriced: 0, cost: 0 } as UsageRow));
  }
  return shown;
}

function called(row: UsageRow, by: By, state: State): string {
  if (by === "agent") return row.name ?? nameOf(state.members, row.id);
  if (by === "person") return row.id ? (row.name ?? nameOf(state.members, row.id)) : "No person";
  if (by !== "space") return row.id || "Not known";
  const space = state.spaces[row.id];
  return space ? titleOf(space, state) : (row.name ?? (row.id ? "A room you are not in" : "No room"));
}

const day = new Intl.DateTimeFormat("en", { month: "short", day: "numeric", timeZone: "UTC" });
const label = (by: By, name: string): string => (by === "day" ? day.format(new Date(name)) : name);

function Spent({ by, rows, named, days }: { by: By; rows: readonly UsageRow[]; named(row: UsageRow): string; days: number }) {
  const total = rows.reduce((sum, row) => sum + row.cost, 0);
  const unpriced = rows.reduce((sum, row) => sum + (row.unpriced ?? 0), 0);
  return (
    <>
      <p className={m.figure}>
        {spent(total, unpriced)} <small>{`in ${days === 365 ? "a year" : `${days} days`}`}</small>
      </p>
      {unpriced > 0 && (
        <Notice tone="warn">
          {number(unpriced)} steps came from models without a price, so nobody knows what they cost, and budgets in dollars do not count them. <Link href="/models">Set prices</Link>
        </Notice>
      )}
      {by === "day" ? <Columns rows={rows} /> : <Bars by={by} rows={rows} named={named} />}
      <div className={m.wide} role="group" tabIndex={0} aria-label="Costs, to scroll">
        <table className={m.table} aria-label={`Costs by ${usageBy[by]}`}>
          <thead>
            <tr>
              <th scope="col">{usageBy[by]}</th>
              <th scope="col" className={m.num}>Cost</th>
              <th scope="col" className={m.num}>Runs</th>
              <th scope="col" className={m.num}>Tokens in</th>
              <th scope="col" className={m.num}>Cached</th>
              <th scope="col" className={m.num}>Tokens out</th>
            </tr>
          </thead>
          <tbody>
            {(by === "day" ? [...rows].reverse().filter((row) => row.steps) : rows).map((row) => (
              <tr key={row.id}>
                <td>
                  <Named by={by} row={row} name={named(row)} />
                </td>
                <td className={m.num}>{spent(row.cost, row.unpriced)}</td>
                <td className={m.num}>{number(row.runs)}</td>
                <td className={m.num}>{number(row.inputTokens ?? 0)}</td>
                <td className={m.num}>{number(row.cachedTokens ?? 0)}</td>
                <td className={m.num}>{number(row.outputTokens ?? 0)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {by === "day" && <p className={p.hint}>Days begin at midnight, UTC.</p>}
    </>
  );
}

function Named({ by, row, name }: { by: By; row: UsageRow; name: string }) {
  const here = useLive((state) => (by === "agent" ? !!state.members[row.id] : by === "space" && !!state.spaces[row.id]));
  const text = <bdi>{label(by, name)}</bdi>;
  return here ? <Link href={by === "agent" ? `/agents/${row.id}` : `/rooms/${row.id}`}>{text}</Link> : text;
}

/** The table below says the same in numbers, so readers of screens are spared the picture. */
function Columns({ rows }: { rows: readonly UsageRow[] }) {
  const most = Math.max(...rows.map((row) => row.cost), 0);
  return (
    <div aria-hidden>
      <ol className={m.chart}>
        {rows.map((row) => (
          <li key={row.id} title={`${label("day", row.id)}: ${spent(row.cost, row.unpriced)}`}>
            <i style={{ blockSize: most ? `${(row.cost / most) * 100}%` : 0, minBlockSize: row.steps ? 2 : 0 }} />
          </li>
        ))}
      </ol>
      <div className={m.axis}>
        <span>{label("day", rows[0]?.id ?? "")}</span>
        <span>{most > 0 && `most in a day: ${spent(most)}`}</span>
        <span>{label("day", rows.at(-1)?.id ?? "")}</span>
      </div>
    </div>
  );
}

const MOST_BARS = 10;

function Bars({ by, rows, named }: { by: By; rows: readonly UsageRow[]; named(row: UsageRow): string }) {
  const most = Math.max(...rows.map((row) => row.cost), 0);
  if (!most) return null;
  return (
    <ol className={m.bars} aria-hidden>
      {rows.slice(0, MOST_BARS).map((row) => (
        <li key={row.id}>
          <bdi>{label(by, named(row))}</bdi>
          <span className={m.track}>
            <i style={{ inlineSize: `${(row.cost / most) * 100}%` }} />
          </span>
          <span>{spent(row.cost, row.unpriced)}</span>
        </li>
      ))}
    </ol>
  );
}
