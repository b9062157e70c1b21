// The tools of an agent, one by one, and whether it may use each. Those that were given as a family stand below its name.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { X } from "lucide-react";
import { api } from "../api/client";
import type { Agent, Decision, Policy, ToolConfig } from "../api/nouns";
import { useLive } from "../live/store";
import { IconButton } from "../parts/Button";
import { Empty, Failed, Skeleton } from "../parts/Notice";
import p from "../parts/parts.module.css";
import { toast } from "../parts/toasts";
import { placeOf } from "../rooms/names";
import { count } from "../words/en";
import type { SaveAgent } from "./Agent";
import s from "./work.module.css";

const DECISIONS: Record<Decision, string> = { allow: "allowed", ask: "asks first", deny: "denied" };

export function ToolsOf({ agent, manages, save }: { agent: Agent; manages: boolean; save: SaveAgent }) {
  const tools = useQuery({ queryKey: ["tools"], queryFn: () => api.tools() });
  const policies = useQuery({ queryKey: ["policies", agent.id], queryFn: () => api.policies(agent.id) });
  const queries = useQueryClient();
  if (tools.isPending) return <Skeleton rows={4} />;
  if (tools.error) return <Failed error={tools.error} onRetry={() => void tools.refetch()} />;
  const all = tools.data.items;
  const change = (next: string[]): void => void save({ tools: next }, { tools: agent.tools });
  const refresh = (): void => void queries.invalidateQueries({ queryKey: ["policies", agent.id] });
  const line = (name: string, inFamily: boolean) => (
    <OneTool
      key={name} agent={agent} name={name} tool={all.find((each) => each.name === name)} manages={manages} onChanged={refresh}
      policies={policies.data?.items.filter((each) => each.toolName === name) ?? []}
      onTake={inFamily ? undefined : () => change(agent.tools.filter((each) => each !== name))}
    />
  );
  return (
    <div className={s.narrow}>
      {agent.tools.map((name) => {
        const members = all.filter((each) => each.family === name);
        const family = all.find((each) => each.name === name)?.family;
        if (!members.length) return family && agent.tools.includes(family) ? null : line(name, false);
        return (
          <section key={name} className={s.family} aria-label={`The family ${name}`}>
            <header>
              <b>{name}</b> <small>{count(members.length, "tool")} that go together</small>
              {manages && (
                <IconButton label={`Take ${name} away`} mini onClick={() => change(agent.tools.filter((each) => each !== name))}>
                  <X size={16} />
                </IconButton>
              )}
            </header>
            {members.map((each) => line(each.name, true))}
          </section>
        );
      })}
      {!agent.tools.length && <Empty title="It has no tools" />}
      {manages && <Give all={all} own={new Set(agent.tools)} onGive={(name) => change([...agent.tools, name])} />}
    </div>
  );
}

type Line = { agent: Agent; name: string; tool?: ToolConfig; policies: Policy[]; manages: boolean; onChanged(): void; onTake?(): void };

function OneTool({ agent, name, tool, policies, manages, onChanged, onTake }: Line) {
  const state = useLive((all) => all);
  const everywhere = policies.find((each) => !each.spaceId && !each.when && !each.source);
  const decision = everywhere?.decision ?? agent.policy?.[name] ?? tool?.policy ?? "allow";
  const set = (next: Decision): void => void api.putPolicy({ agentId: agent.id, toolName: name, decision: next }).then(onChanged, toast);
  return (
    <div className={s.tool}>
      <span>
        <code>{name}</code>
        <small>{tool ? tool.description.split("\n")[0] : "This tool is gone: nobody defines it any more."}</small>
        {policies
          .filter((each) => each.spaceId || each.source)
          .map((each) => (
            <small key={each.id}>
              {DECISIONS[each.decision]}
              {each.spaceId && ` in ${placeOf(each.spaceId, state)}`}
              {each.source && ` for text from ${each.source}`}{" "}
              {manages && (
                <button type="button" className={p.link} onClick={() => void api.deletePolicy(each.id).then(onChanged, toast)}>
                  Undo
                </button>
              )}
            </small>
          ))}
      </span>
      <select className={s.inline} aria-label={`May it use ${name}?`} value={decision} disabled={!manages || !tool} onChange={(event) => set(event.target.value as Decision)}>
        {Object.entries(DECISIONS).map(([value, words]) => (
          <option key={value} value={value}>
            {words}
          </option>
        ))}
      </select>
      {manages && onTake && (
        <IconButton label={`Take ${name} away`} mini onClick={onTake}>
          <X size={16} />
        </IconButton>
      )}
    </div>
  );
}

function Give({ all, own, onGive }: { all: readonly ToolConfig[]; own: ReadonlySet<string>; onGive(name: string): void }) {
  const families = [...new Set(all.flatMap((tool) => tool.family ?? []))].filter((family) => !own.has(family));
  const single = all.filter((tool) => !own.has(tool.name) && !(tool.family && own.has(tool.family)));
  if (!families.length && !single.length) return null;
  return (
    <select className={s.add} aria-label="Give it a tool" value="" onChange={(event) => onGive(event.target.value)}>
      <option value="">Give it a tool…</option>
      {families.length > 0 && (
        <optgroup label="Families">
          {families.map((family) => (
            <option key={family} value={family}>
              {family}, all {all.filter((tool) => tool.family === family).length}
            </option>
          ))}
        </optgroup>
      )}
      <optgroup label="One by one">
        {single.map((tool) => (
          <option key={tool.name} value={tool.name}>
            {tool.name}
          </option>
        ))}
      </optgroup>
    </select>
  );
}
