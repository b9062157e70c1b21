import { useEffect, useRef, useState } from "react";
import { api } from "../api/client";
import type { InviteShown, Me } from "../api/nouns";
import { fieldOf, sentence } from "../api/problems";
import { store } from "../live/store";
import { Button } from "../parts/Button";
import { Notice } from "../parts/Notice";
import p from "../parts/parts.module.css";
import { tellEntered, whenEnteredElsewhere } from "./door";
import type { Entry } from "./hash";
import s from "./start.module.css";

const TEXTS = {
  claim: { title: "This office has no owner yet", about: "You become its owner. The code in your link is used up by this.", verb: "Claim this office" },
  invite: { title: "Join this office", about: "Somebody invited you. Choose how you are called here; the link is used up by this.", verb: "Join" },
  session: { title: "Sign in", about: "", verb: "Sign in" },
};

const AGAIN = { title: "Sign in again", about: "Your session has ended. What you wrote is kept on this device, and goes on where it was.", verb: "Sign in" };

export default function Start({ entry, onEntered }: { entry: Entry; onEntered(me: Me): void }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = "Bullpen";
    if (entry.kind === "unclaimed") heading.current?.focus();
  }, [entry.kind]);
  useEffect(() => {
    if (entry.kind === "session" || entry.kind === "unclaimed") return whenEnteredElsewhere(() => window.location.reload());
  }, [entry.kind]);
  return (
    <main className={s.door}>
      <div className={s.box}>
        <div className={s.brand}>
          <img src="/assets/icon.svg" alt="" /> Bullpen
        </div>
        {entry.kind === "unclaimed" ? (
          <>
            <h1 ref={heading} tabIndex={-1}>
              Nobody owns this office yet
            </h1>
            <p>Open the claim link that the server printed when it started. It stands in the terminal, and ends with #claim=…</p>
          </>
        ) : (
          <Door entry={entry} onEntered={onEntered} />
        )}
      </div>
    </main>
  );
}

function Door({ entry, onEntered }: { entry: Exclude<Entry, { kind: "unclaimed" }>; onEntered(me: Me): void }) {
  const { title, about, verb } = entry.kind === "session" && entry.again ? AGAIN : TEXTS[entry.kind];
  const isNew = entry.kind !== "session";
  const before = entry.kind === "session" && entry.again ? (store.getState().me?.name ?? "") : "";
  const [name, setName] = useState(before);
  const [password, setPassword] = useState("");
  const [shown, setShown] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);

  const enter = (): Promise<Me> => {
    if (entry.kind === "session") return api.signIn({ name, password });
    return entry.kind === "claim" ? api.setup({ code: entry.code, name, password }) : api.acceptInvite({ code: entry.code, name, password });
  };
  const submit = async (): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      const me = await enter();
      tellEntered();
      onEntered(me);
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  };
  return (
    <>
      <h1>{title}</h1>
      {entry.kind === "invite" ? <Invited code={entry.code} /> : about && <p>{about}</p>}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <label className={p.field}>
          {isNew ? "Your name" : "Name"}
          <input value={name} onChange={(event) => setName(event.target.value)} autoComplete="username" required maxLength={80} autoFocus={!before} />
          {fieldOf(error, "name") && <span className={p.problem}>{fieldOf(error, "name")}</span>}
        </label>
        <div className={p.field}>
          <label htmlFor="password">Password</label>
          <span className={s.password}>
            <input id="password" type={shown ? "text" : "password"} value={password} onChange={(event) => setPassword(event.target.value)} autoComplete={isNew ? "new-password" : "current-password"} required autoFocus={!!before} minLength={isNew ? 8 : 1} aria-describedby={isNew ? "password-hint" : undefined} />
            <button type="button" aria-label={shown ? "Hide what I type" : "Show what I type"} aria-pressed={shown} onClick={() => setShown(!shown)}>
              {shown ? "hide" : "show"}
            </button>
          </span>
          {isNew && (
            <span id="password-hint" className={p.hint}>
              8 characters or more. A phrase is fine.
            </span>
          )}
        </div>
        {error !== null && (
          <p className={p.problem} role="alert">
            {sentence(error) === "You are not signed in any more. Sign in again to go on." ? (error as Error).message : sentence(error)}
          </p>
        )}
        <Button look="primary" type="submit" busy={busy}>
          {verb}
        </Button>
      </form>
    </>
  );
}

/** Who invites, and where it leads; and that the link works no more, before somebody fills in the form. */
function Invited({ code }: { code: string }) {
  const [shown, setShown] = useState<InviteShown | null>(null);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    api.lookAtInvite(code).then(setShown, setError);
  }, [code]);
  if (error !== null) return <Notice tone="bad">{sentence(error)}</Notice>;
  if (!shown) return <p>{TEXTS.invite.about}</p>;
  const rooms = (shown.spaces ?? []).map((name) => `#${name}`).join(", ");
  return (
    <p>
      <b>
        <bdi>{shown.invitedBy}</bdi>
      </b>{" "}
      invites you{rooms && ` to ${rooms}`}. Choose how you are called here; the link is used up by this.
    </p>
  );
}
