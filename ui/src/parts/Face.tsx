import { useState } from "react";
import { useLive } from "../live/store";
import s from "./parts.module.css";

export type Presence = "here" | "busy" | "waiting" | "paused" | null;

/** Round and blue: a person. Square and violet: an agent. */
export function Face({ id, name, kind, size, presence }: { id: string; name?: string; kind?: string; size?: "small" | "large"; presence?: Presence }) {
  const member = useLive((state) => state.members[id]);
  const called = name ?? member?.name ?? id;
  const isAgent = (kind ?? member?.kind) === "agent";
  const avatar = member?.avatar;
  const [missing, setMissing] = useState<string | null>(null);
  const picture = avatar?.startsWith("fil_") && missing !== avatar ? avatar : null;
  const letters = [...called].slice(0, size === "small" ? 1 : 2).join("");
  return (
    <span className={`${s.face} ${isAgent ? s.agent : ""} ${size ? s[size] : ""}`} aria-hidden="true">
      {picture ? <img src={`/api/avatars/${encodeURIComponent(id)}?of=${picture}`} alt="" loading="lazy" onError={() => setMissing(picture)} /> : letters}
      {presence && <i className={s.dot} data-state={presence} />}
    </span>
  );
}

export function AgentTag({ role }: { role?: string | null }) {
  return <span className={s.tag}>{role ? `agent · ${role}` : "agent"}</span>;
}
