// Myself: how I am called, my picture, and where I am signed in.
import { useQuery } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { api, upload } from "../api/client";
import { change as changeState, useLive } from "../live/store";
import { Button } from "../parts/Button";
import { Face } from "../parts/Face";
import p from "../parts/parts.module.css";
import { done, toast } from "../parts/toasts";
import { Sessions } from "./People";

export function Profile() {
  const me = useLive((state) => state.me);
  const person = useQuery({ queryKey: ["people", me?.id], queryFn: () => api.person(me?.id ?? ""), enabled: me?.kind === "person" });
  if (!me || !person.data) return null;
  const save = async (body: { name?: string; avatar?: string | null }, words: string): Promise<void> => {
    try {
      const changed = await api.updatePerson(me.id, body);
      changeState((state) => ({
        ...state,
        me: { ...me, name: changed.name },
        members: { ...state.members, [me.id]: { ...(state.members[me.id] ?? { id: me.id, kind: "person", joinedAt: changed.createdAt }), name: changed.name, avatar: changed.avatar } },
      }));
      await person.refetch();
      done(words);
    } catch (error) {
      toast(error);
    }
  };
  return (
    <>
      <section>
        <h2>You</h2>
        <Picture id={me.id} name={me.name} has={!!person.data.avatar} onSave={(avatar) => save({ avatar }, avatar ? "Your picture is changed" : "Your picture is taken away")} />
        <Name key={me.name} name={me.name} onSave={(name) => save({ name }, `You are called ${name} now`)} />
      </section>
      <section>
        <h2>Where you are signed in</h2>
        <Sessions personId={me.id} />
      </section>
    </>
  );
}

function Name({ name, onSave }: { name: string; onSave(name: string): Promise<void> }) {
  const [text, setText] = useState(name);
  return (
    <form
      className={p.actions}
      onSubmit={(event) => {
        event.preventDefault();
        void onSave(text.trim());
      }}
    >
      <input className={p.input} style={{ inlineSize: 260 }} aria-label="Your name" required maxLength={80} value={text} onChange={(event) => setText(event.target.value)} />
      <Button type="submit" disabled={!text.trim() || text.trim() === name}>
        Change name
      </Button>
    </form>
  );
}

/** A picture of a person or an agent: chosen, uploaded and shown; or taken away. */
export function Picture({ id, name, kind = "person", has, onSave }: { id: string; name: string; kind?: string; has: boolean; onSave(fileId: string | null): Promise<void> }) {
  const field = useRef<HTMLInputElement>(null);
  const [busy, setBusy] = useState(false);
  const choose = async (file: File | undefined): Promise<void> => {
    if (!file) return;
    setBusy(true);
    try {
      const made = await upload(file, undefined, () => undefined).done;
      if (!made.thumbnail) throw new Error("This file is no picture that can be shown. Choose a PNG, JPEG, GIF or WebP.");
      await onSave(made.id);
    } catch (error) {
      toast(error instanceof Error && error.name === "Error" ? error.message : error);
    }
    setBusy(false);
  };
  return (
    <div className={p.actions}>
      <Face id={id} name={name} kind={kind} size="large" />
      <input ref={field} type="file" accept="image/png,image/jpeg,image/gif,image/webp" hidden aria-label="Choose a picture" onChange={(event) => void choose(event.target.files?.[0])} />
      <Button busy={busy} onClick={() => field.current?.click()}>
        {has ? "Change picture" : "Choose a picture"}
      </Button>
      {has && (
        <Button look="quiet" onClick={() => void onSave(null)}>
          Take it away
        </Button>
      )}
    </div>
  );
}
