import { useLive } from "../live/store";
import s from "./parts.module.css";

export type Presence = "here" | "busy" | "waiting" | "paused" | null;

/** Round and blue: a person. Square and violet: an agent. */
export function Face({ id, name, kind, size, presence }: { id: string; name?: string; kind?: string; size?: "small" | "large"; presence?: Presence }) {
  const member = useLive((state) => state.members[id]);
  const called = name ?? member?.name ?? id;
  const isAgent = (kind ?? member?.kind) === "agent";
  const letters = [...called].slice(0, size === "small" ? 1 : 2).join("");
  return (
    <span className={`${s.face} ${isAgent ? s.agent : ""} ${size ? s[size] : ""}`} aria-hidden="true">
      {letters}
      {presence && <i className={s.dot} data-state={presence} />}
    </span>
  );
}

export function AgentTag({ role }: { role?: string | null }) {
  return <span className={s.tag}>{role ? `agent · ${role}` : "agent"}</span>;
}
