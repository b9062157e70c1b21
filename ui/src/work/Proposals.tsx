// Skills that somebody has proposed: what would change, and a yes or a no to exactly that.
import { useQueryClient } from "@tanstack/react-query";
import { BookMarked } from "lucide-react";
import { api } from "../api/client";
import type { Skill } from "../api/nouns";
import { useLive } from "../live/store";
import { Button } from "../parts/Button";
import p from "../parts/parts.module.css";
import { done, toast } from "../parts/toasts";
import { titleOf } from "../rooms/names";
import { Who } from "../rooms/Who";
import s from "./work.module.css";

export function Proposals({ skills }: { skills: Skill[] }) {
  return (
    <ul className={s.list}>
      {skills.map((skill) => (
        <Proposed key={skill.id} skill={skill} />
      ))}
    </ul>
  );
}

function Proposed({ skill }: { skill: Skill }) {
  const state = useLive((all) => all);
  const queries = useQueryClient();
  const proposal = skill.proposal;
  if (!proposal) return null;
  const space = state.spaces[skill.spaceId];
  const answer = async (work: () => Promise<unknown>, said: string): Promise<void> => {
    try {
      await work();
      done(said);
    } catch (error) {
      toast(error);
    } finally {
      await queries.invalidateQueries({ queryKey: ["skills"] });
    }
  };
  return (
    <li className={s.entry}>
      <span className={s.where}>
        <b><Who id={proposal.writtenBy} /></b> would {skill.status === "proposed" ? "store" : "change"} the skill <code>/{skill.name}</code>
        {space && ` in ${space.kind === "dm" ? titleOf(space, state) : `#${titleOf(space, state)}`}`}
        {(proposal.outside ?? []).length > 0 && <span className={p.problem}>· its writer had read text from {(proposal.outside ?? []).join(", ")}</span>}
      </span>
      <article className={s.proposal} aria-label={`Proposed: /${skill.name}`}>
        <header>
          <BookMarked size={16} aria-hidden /> <b>/{skill.name}</b> <span>{proposal.description}</span>
        </header>
        <pre className={s.diff} tabIndex={0}>
          {proposal.diff.split("\n").map((line, at) => (
            <span key={at} data-sign={/^[+-]/.exec(line)?.[0]}>
              {line}
              {"\n"}
            </span>
          ))}
        </pre>
        <div className={p.actions}>
          <Button look="primary" onClick={() => void answer(() => api.approveSkill(skill, proposal.hash), `People can write /${skill.name} now.`)}>
            Approve
          </Button>
          <Button look="danger" onClick={() => void answer(() => api.rejectSkill(skill), "Forgotten. Nothing has changed.")}>
            Reject
          </Button>
        </div>
      </article>
    </li>
  );
}
