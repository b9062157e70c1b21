// What the kinds of memory have in common: a section, the question before something is deleted, and where it is kept.
import { useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "wouter";
import type { Agent, Space } from "../api/nouns";
import type { State } from "../live/state";
import { useLive } from "../live/store";
import { Dialog } from "../parts/Dialog";
import { Form } from "../parts/Form";
import p from "../parts/parts.module.css";
import { done } from "../parts/toasts";
import { placeOf, titleOf } from "../rooms/names";
import m from "./memory.module.css";
import s from "./work.module.css";

type SectionProps = { id: string; title: string; hint: string; action?: ReactNode; children: ReactNode };

export function Section({ id, title, hint, action, children }: SectionProps) {
  return (
    <section aria-labelledby={id} className={m.section}>
      <header className={m.top}>
        <h2 id={id} tabIndex={-1}>
          {title}
        </h2>
        <p className={p.hint}>{hint}</p>
        {action}
      </header>
      {children}
    </section>
  );
}

type AskDeleteProps = { what: string; text: string; note?: string; open: boolean; section: string; onDelete(): Promise<unknown>; onClose(): void };

/** Afterwards the heading of the section has the focus, since the button that asked is gone. */
export function AskDelete({ what, text, note, open, section, onDelete, onClose }: AskDeleteProps) {
  const queries = useQueryClient();
  const remove = async (): Promise<void> => {
    await onDelete();
    onClose();
    await queries.invalidateQueries({ queryKey: ["memory"] });
    done(`The ${what} is deleted`);
    setTimeout(() => document.getElementById(section)?.focus());
  };
  return (
    <Dialog title={`Delete this ${what}?`} open={open} onClose={onClose}>
      <Form verb="Delete" look="danger" cancel="Keep it" onSave={remove} onCancel={onClose}>
        <blockquote className={m.quoted} dir="auto">
          {short(text, 300)}
        </blockquote>
        <p className={p.hint}>{note ?? "It cannot be brought back."}</p>
      </Form>
    </Dialog>
  );
}

/** Enough of a text to tell it from others. */
export function short(text: string, most = 48): string {
  const letters = [...text.replace(/\s+/g, " ").trim()];
  return letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : letters.join("");
}

/** The private rooms of an agent: what it learns there may be kept for that room alone. */
function privateRooms(agent: Agent, state: State): Space[] {
  return Object.values(state.spaces).filter((space) => (space.private || space.kind !== "channel") && space.members.includes(agent.id));
}

type PlaceProps = { label: string; agent: Agent; place: string | undefined; onChange(place: string | undefined): void };

export function PlaceField({ label, agent, place, onChange }: PlaceProps) {
  const state = useLive((all) => all);
  const rooms = privateRooms(agent, state);
  if (!rooms.length) return null;
  return (
    <label className={p.field} style={{ maxInlineSize: 320 }}>
      {label}
      <select value={place ?? ""} onChange={(event) => onChange(event.target.value || undefined)}>
        <option value="">everywhere</option>
        {rooms.map((space) => (
          <option key={space.id} value={space.id}>
            {titleOf(space, state)}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Does the agent keep goals and memories for one room at all? Otherwise there is nothing to choose. */
export const keepsForRooms = (agent: Agent): boolean => agent.scope === "space" && !agent.memory?.acrossSpaces;

export function RoomLink({ id, messageId }: { id: string; messageId?: string | null }) {
  const state = useLive((all) => all);
  const name = placeOf(id, state);
  if (!state.spaces[id]) return <>{name}</>;
  return (
    <Link href={`/rooms/${id}${messageId ? `?message=${messageId}` : ""}`}>
      <bdi>{name}</bdi>
    </Link>
  );
}

/** What whoever reads it should know: where it counts, and what its writer had read. */
export function Marks({ spaceId, outside }: { spaceId?: string | null; outside: string[] }) {
  return (
    <>
      {spaceId && (
        <span className={s.chip} data-tone="live">
          only in <RoomLink id={spaceId} />
        </span>
      )}
      {outside.length > 0 && (
        <span className={s.chip} data-tone="warn" title={outside.join(", ")}>
          written after reading text from outside
        </span>
      )}
    </>
  );
}
