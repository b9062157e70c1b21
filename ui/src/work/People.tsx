// Who is in the office: people and their roles, the links that bring them in, and the tokens that act for them.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Trash2 } from "lucide-react";
import { useEffect, useState } from "react";
import { api } from "../api/client";
import type { Invite, NewInvite, OpenSession, Person, Token } from "../api/nouns";
import { useLive } from "../live/store";
import { Ago } from "../parts/Ago";
import { Button, IconButton } from "../parts/Button";
import { Face } from "../parts/Face";
import { Failed, Notice, Skeleton } from "../parts/Notice";
import p from "../parts/parts.module.css";
import { done, toast } from "../parts/toasts";
import { Who } from "../rooms/Who";
import { PageHead } from "./Head";
import s from "./work.module.css";

const ROLES = { owner: "Owner: may do everything", admin: "Admin: looks after agents and people", member: "Member", guest: "Guest: from a chat elsewhere" };

export default function People() {
  const people = useQuery({ queryKey: ["people"], queryFn: () => api.people() });
  const me = useLive((state) => state.me);
  const manages = me?.grants.includes("manage_agents") ?? false;
  useEffect(() => {
    document.title = "People · Bullpen";
  }, []);
  return (
    <main className={s.page} id="main">
      <PageHead title="People" count={people.data?.items.length} />
      <div className={`${s.scroll} ${s.settings}`}>
        <div className={s.narrow}>
          {people.isPending ? (
            <Skeleton rows={4} />
          ) : people.error ? (
            <Failed error={people.error} onRetry={() => void people.refetch()} />
          ) : (
            <ul className={s.plain} aria-label="Everybody here">
              {[...people.data.items].sort((a, b) => a.name.localeCompare(b.name)).map((person) => <Row key={person.id} person={person} />)}
            </ul>
          )}
          {manages && <Invites />}
          <Tokens />
        </div>
      </div>
    </main>
  );
}

function Row({ person }: { person: Person }) {
  const queries = useQueryClient();
  const me = useLive((state) => state.me);
  const isOwner = me?.grants.includes("owner") ?? false;
  const mayChange = isOwner || ((me?.grants.includes("manage_agents") ?? false) && person.role === "member");
  const change = async (body: object, undo: object, what: string): Promise<void> => {
    try {
      await api.updatePerson(person.id, body);
      await queries.invalidateQueries({ queryKey: ["people"] });
      done(what, () => void change(undo, body, "Changed back"));
    } catch (error) {
      toast(error);
    }
  };
  const disabled = !!person.disabledAt;
  return (
    <li className={s.person} data-off={disabled || undefined}>
      <Face id={person.id} name={person.name} kind="person" />
      <span>
        <b>
          <bdi>{person.name}</bdi> {person.id === me?.id && <span className={s.chip}>you</span>}
        </b>
        <small>{disabled ? "Disabled: cannot sign in, and their tokens rest" : <>joined <Ago at={person.createdAt} /></>}</small>
      </span>
      {isOwner ? (
        <select
          className={s.inline}
          aria-label={`Role of ${person.name}`}
          value={person.role}
          onChange={(event) => void change({ role: event.target.value }, { role: person.role }, `${person.name} is ${event.target.value} now`)}
        >
          {Object.entries(ROLES)
            .filter(([role]) => role !== "guest" || person.role === "guest")
            .map(([role, words]) => (
              <option key={role} value={role} disabled={role === "guest"}>
                {words}
              </option>
            ))}
        </select>
      ) : (
        <span className={s.chip}>{person.role}</span>
      )}
      {mayChange && person.id !== me?.id && (
        <Button
          onClick={() => void change({ disabled: !disabled }, { disabled }, disabled ? `${person.name} may sign in again` : `${person.name} is signed out everywhere`)}
          aria-label={`${disabled ? "Enable" : "Disable"} ${person.name}`}
        >
          {disabled ? "Enable" : "Disable"}
        </Button>
      )}
      {isOwner && person.id !== me?.id && <SessionsOf person={person} />}
    </li>
  );
}

function SessionsOf({ person }: { person: Person }) {
  const [open, setOpen] = useState(false);
  return (
    <details className={s.whole} open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Where {person.name} is signed in</summary>
      {open && <Sessions personId={person.id} />}
    </details>
  );
}

/** Where somebody is signed in, with a way to sign them out there. */
export function Sessions({ personId }: { personId: string }) {
  const sessions = useQuery({ queryKey: ["sessions", personId], queryFn: () => api.sessions(personId) });
  if (sessions.isPending) return <Skeleton rows={1} />;
  if (sessions.error) return <Failed error={sessions.error} onRetry={() => void sessions.refetch()} />;
  if (!sessions.data.items.length) return <p className={p.hint}>Nowhere: no browser is signed in.</p>;
  const end = (session: OpenSession): void =>
    void api.endSession(session.id).then(() => (done("Signed out there"), void sessions.refetch()), toast);
  return (
    <ul className={s.plain}>
      {sessions.data.items.map((session) => (
        <li key={session.id} className={s.line}>
          <span>
            {session.device ?? "A browser"} {session.current && <span className={s.chip}>this one</span>}
            <small>
              signed in <Ago at={session.createdAt} />
            </small>
          </span>
          {!session.current && (
            <Button onClick={() => end(session)} aria-label={`Sign out on ${session.device ?? "a browser"}`}>
              Sign out
            </Button>
          )}
        </li>
      ))}
    </ul>
  );
}

function Invites() {
  const [made, setMade] = useState<NewInvite | null>(null);
  const [role, setRole] = useState("member");
  const [chosen, setRoom] = useState<string | null>(null);
  const me = useLive((state) => state.me);
  const spaces = useLive((state) => state.spaces);
  const invites = useQuery({ queryKey: ["invites"], queryFn: () => api.invites() });
  const mine = Object.values(spaces).filter((each) => each.kind !== "dm" && !each.archivedAt && each.members.includes(me?.id ?? ""));
  const room = chosen ?? (mine.find((each) => each.id === "general") ?? mine[0])?.id ?? "";
  const create = async (): Promise<void> => {
    try {
      setMade(await api.invite({ role, spaceIds: room ? [room] : [] }));
      await invites.refetch();
    } catch (error) {
      toast(error);
    }
  };
  return (
    <section>
      <h2>Invite somebody</h2>
      <div className={p.actions}>
        <select className={s.inline} aria-label="As what" value={role} onChange={(event) => setRole(event.target.value)}>
          <option value="member">as a member</option>
          {me?.grants.includes("owner") && <option value="admin">as an admin: looks after agents, approves</option>}
        </select>
        <select className={s.inline} aria-label="Into which room" value={room} onChange={(event) => setRoom(event.target.value)}>
          <option value="">into no room</option>
          {mine.map((each) => (
            <option key={each.id} value={each.id}>
              into #{each.name}
            </option>
          ))}
        </select>
        <Button look="primary" onClick={() => void create()}>
          Make a link
        </Button>
      </div>
      {made && (
        <Notice tone={made.localOnly ? "warn" : "ok"}>
          {made.localOnly && (
            <p>
              <b>This link opens on this machine only.</b> Set <code>BULLPEN_PUBLIC_URL</code> to the address that others reach, and make a new one.
            </p>
          )}
          For one person, once, until <Ago at={made.expiresAt} comes />. It is shown only now:
          <p style={{ overflowWrap: "anywhere", userSelect: "all" }} data-invite>
            {made.link}
          </p>
          <Button onClick={() => void navigator.clipboard?.writeText(made.link).then(() => done("Link copied"))}>Copy</Button>
        </Notice>
      )}
      <ul className={s.plain}>
        {(invites.data?.items ?? []).map((invite) => (
          <OpenInvite key={invite.id} invite={invite} onChanged={() => void invites.refetch()} />
        ))}
      </ul>
    </section>
  );
}

function OpenInvite({ invite, onChanged }: { invite: Invite; onChanged(): void }) {
  const spaces = useLive((state) => state.spaces);
  const into = (invite.spaceIds ?? []).map((id) => `#${spaces[id]?.name ?? id}`).join(", ");
  return (
    <li className={s.line}>
      <span>
        As {invite.role}
        {into && `, into ${into}`}
        <small>
          made by <Who id={invite.createdBy} />, <Ago at={invite.createdAt} />
        </small>
      </span>
      <Button onClick={() => void api.revokeInvite(invite.id).then(onChanged, toast)}>Revoke</Button>
    </li>
  );
}

function Tokens() {
  const tokens = useQuery({ queryKey: ["tokens"], queryFn: () => api.tokens() });
  const [name, setName] = useState("");
  const [made, setMade] = useState("");
  const make = async (): Promise<void> => {
    try {
      setMade((await api.createToken({ name: name.trim() })).token);
      setName("");
      await tokens.refetch();
    } catch (error) {
      toast(error);
    }
  };
  return (
    <section>
      <h2>Tokens</h2>
      <p className={p.hint}>A program that holds one acts as its holder. A new one is yours.</p>
      <form
        className={p.actions}
        onSubmit={(event) => {
          event.preventDefault();
          void make();
        }}
      >
        <input className={p.input} style={{ inlineSize: 220 }} aria-label="Name of the new token" placeholder="what it is for" value={name} maxLength={100} onChange={(event) => setName(event.target.value)} />
        <Button type="submit" disabled={!name.trim()}>
          Make a token
        </Button>
      </form>
      {made && (
        <Notice tone="ok">
          It is shown only now:
          <p style={{ overflowWrap: "anywhere", userSelect: "all" }}>
            <code data-token>{made}</code>
          </p>
          <Button onClick={() => void navigator.clipboard?.writeText(made).then(() => done("Token copied"))}>Copy</Button>
        </Notice>
      )}
      {tokens.isPending ? (
        <Skeleton rows={2} />
      ) : tokens.error ? (
        <Failed error={tokens.error} onRetry={() => void tokens.refetch()} />
      ) : !tokens.data.items.length ? (
        <p className={p.hint}>No tokens yet.</p>
      ) : (
        <ul className={s.plain} aria-label="Tokens">
          {tokens.data.items.map((token) => (
            <TokenLine key={token.id} token={token} onChanged={() => void tokens.refetch()} />
          ))}
        </ul>
      )}
    </section>
  );
}

function TokenLine({ token, onChanged }: { token: Token; onChanged(): void }) {
  return (
    <li className={s.line}>
      <span>
        <bdi>{token.name}</bdi> <span className={s.chip}>{token.tools ? `answers ${token.tools.join(", ")}` : token.kind}</span>
        <small>
          acts as <Who id={token.personId ?? token.agentId} />, made <Ago at={token.createdAt} />
          {token.expiresAt && (
            <>
              , ends <Ago at={token.expiresAt} comes />
            </>
          )}
        </small>
      </span>
      <IconButton label={`Revoke ${token.name}`} mini onClick={() => void api.revokeToken(token.id).then(() => (done(`${token.name} works no more`), onChanged()), toast)}>
        <Trash2 size={15} />
      </IconButton>
    </li>
  );
}
