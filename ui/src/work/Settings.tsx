import { useQuery } from "@tanstack/react-query";
import { LogOut } from "lucide-react";
import { useEffect, useState } from "react";
import { api } from "../api/client";
import type { NewInvite } from "../api/nouns";
import { sentence } from "../api/problems";
import { keep, kept } from "../live/kept";
import { allowNotifications } from "../live/notify";
import { signOut } from "../live/session";
import { useLive } from "../live/store";
import { Ago } from "../parts/Ago";
import { Button } from "../parts/Button";
import { look, setDensity, setTheme, type Theme } from "../parts/look";
import { Notice } from "../parts/Notice";
import p from "../parts/parts.module.css";
import { done, toast } from "../parts/toasts";
import { PageHead } from "./Head";
import s from "./work.module.css";

export default function Settings() {
  const me = useLive((state) => state.me);
  useEffect(() => {
    document.title = "Settings · Bullpen";
  }, []);
  return (
    <main className={s.page} id="main">
      <PageHead title="Settings">
        <Button onClick={() => void signOut()}>
          <LogOut size={15} aria-hidden /> Sign out
        </Button>
      </PageHead>
      <div className={`${s.scroll} ${s.settings}`}>
        <div className={s.narrow}>
          <Appearance />
          <Attention />
          {me?.grants.includes("manage_agents") && <Invites />}
          <Password />
        </div>
      </div>
    </main>
  );
}

function Appearance() {
  const [chosen, setChosen] = useState(look);
  return (
    <section>
      <h2>Appearance</h2>
      <div className={s.choice} role="radiogroup" aria-label="Theme">
        {(["system", "light", "dark"] as Theme[]).map((theme) => (
          <label key={theme} className={p.check}>
            <input type="radio" name="theme" checked={(chosen.theme ?? "system") === theme} onChange={() => (setTheme(theme), setChosen(look()))} />
            {{ system: "As the system", light: "Light", dark: "Dark" }[theme]}
          </label>
        ))}
      </div>
      <label className={p.check}>
        <input type="checkbox" checked={chosen.density === "compact"} onChange={(event) => (setDensity(event.target.checked ? "compact" : "comfortable"), setChosen(look()))} />
        Compact: smaller faces, more messages
      </label>
    </section>
  );
}

function Attention() {
  const [wanted, setWanted] = useState(() => kept("notify", false));
  const [letters, setLetters] = useState(() => kept("letters", true));
  const toggle = async (on: boolean): Promise<void> => {
    const allowed = on && (await allowNotifications());
    if (on && !allowed) toast("This browser does not allow notifications for this page. Change that in its settings.");
    keep("notify", allowed);
    setWanted(allowed);
  };
  return (
    <section>
      <h2>Attention</h2>
      <label className={p.check}>
        <input type="checkbox" checked={wanted} onChange={(event) => void toggle(event.target.checked)} />
        Notify me when I am mentioned, or an agent waits for me
      </label>
      <label className={p.check}>
        <input type="checkbox" checked={letters} onChange={(event) => (keep("letters", event.target.checked), setLetters(event.target.checked))} />
        Single letters are shortcuts (outside of fields)
      </label>
    </section>
  );
}

function Invites() {
  const [made, setMade] = useState<NewInvite | null>(null);
  const [role, setRole] = useState("member");
  const invites = useQuery({ queryKey: ["invites"], queryFn: () => api.invites() });
  const create = async (): Promise<void> => {
    try {
      setMade(await api.invite(role));
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
          <option value="admin">as an admin: looks after agents, approves</option>
        </select>
        <Button look="primary" onClick={() => void create()}>
          Make a link
        </Button>
      </div>
      {made && (
        <Notice tone="ok">
          For one person, once, until <Ago at={made.expiresAt} comes />. It is shown only now:
          <p style={{ overflowWrap: "anywhere", userSelect: "all" }} data-invite>
            {made.link}
          </p>
          <Button onClick={() => void navigator.clipboard?.writeText(made.link).then(() => done("Link copied"))}>Copy</Button>
        </Notice>
      )}
      {(invites.data?.items ?? []).map((invite) => (
        <div key={invite.id} className={p.actions}>
          <span className={p.hint}>
            an invite as {invite.role}, <Ago at={invite.createdAt} />
          </span>
          <button type="button" className={p.link} onClick={() => void api.revokeInvite(invite.id).then(() => invites.refetch(), toast)}>
            Revoke
          </button>
        </div>
      ))}
    </section>
  );
}

function Password() {
  const [current, setCurrent] = useState("");
  const [password, setPassword] = useState("");
  const [problem, setProblem] = useState("");
  const submit = async (): Promise<void> => {
    try {
      await api.changePassword({ current, password });
      setCurrent("");
      setPassword("");
      setProblem("");
      done("Your password is changed. Elsewhere you are signed out.");
    } catch (error) {
      setProblem(sentence(error));
    }
  };
  return (
    <section>
      <h2>Password</h2>
      <form
        className={s.form}
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <label className={p.field}>
          Current password
          <input type="password" autoComplete="current-password" required value={current} onChange={(event) => setCurrent(event.target.value)} />
        </label>
        <label className={p.field}>
          New password
          <input type="password" autoComplete="new-password" required minLength={8} value={password} onChange={(event) => setPassword(event.target.value)} />
        </label>
        {problem && <p className={p.problem} role="alert">{problem}</p>}
        <Button type="submit">Change password</Button>
      </form>
    </section>
  );
}
