// What a room is called and about; archiving and deleting it.
import { useState } from "react";
import { useLocation } from "wouter";
import { api } from "../api/client";
import type { Space, SpaceContents } from "../api/nouns";
import { loadSpaces } from "../live/load";
import { useLive } from "../live/store";
import { Button } from "../parts/Button";
import { Dialog } from "../parts/Dialog";
import { Notice } from "../parts/Notice";
import p from "../parts/parts.module.css";
import { done, toast } from "../parts/toasts";
import { count, size } from "../words/en";
import { updateRoom } from "./actions";
import { keepsRoom } from "./keeps";
import s from "./rooms.module.css";

export function RoomSettings({ space }: { space: Space }) {
  const me = useLive((state) => state.me);
  const isOwner = me?.grants.includes("owner") ?? false;
  const mayChange = isOwner || space.members.includes(me?.id ?? "");
  const [deleting, setDeleting] = useState(false);
  if (space.kind === "dm" || !mayChange) return null;
  const archived = !!space.archivedAt;
  const keeps = keepsRoom(space, me?.id ?? "", me?.grants ?? []);
  return (
    <section className={s.section}>
      <h3>This room</h3>
      <NameAndTopic key={`${space.name}/${space.topic}`} space={space} />
      <div className={p.actions}>
        {!space.main && keeps && (
          <Button onClick={() => void updateRoom(space, { archived: !archived }, archived ? "People can write here again" : "Archived: nobody writes here now", { archived })}>
            {archived ? "Restore this room" : "Archive this room"}
          </Button>
        )}
        {isOwner && (
          <Button look="danger" onClick={() => setDeleting(true)}>
            Delete…
          </Button>
        )}
      </div>
      {keeps && <p className={p.hint}>An archived room can be read. Its tasks are paused.</p>}
      {isOwner && <DeleteRoom space={space} open={deleting} onClose={() => setDeleting(false)} />}
    </section>
  );
}

function NameAndTopic({ space }: { space: Space }) {
  const [name, setName] = useState(space.name);
  const [topic, setTopic] = useState(space.topic ?? "");
  const before = { name: space.name, topic: space.topic ?? null };
  const changed = name !== space.name || topic !== (space.topic ?? "");
  return (
    <form
      className={s.dialogform}
      onSubmit={(event) => {
        event.preventDefault();
        void updateRoom(space, { name: name.trim(), topic: topic.trim() || null }, "Saved", before);
      }}
    >
      <label className={p.field}>
        Name
        <input value={name} required maxLength={200} onChange={(event) => setName(event.target.value)} />
      </label>
      <label className={p.field}>
        Topic
        <input value={topic} maxLength={250} placeholder="what it is about" onChange={(event) => setTopic(event.target.value)} />
      </label>
      {changed && (
        <Button type="submit" disabled={!name.trim()}>
          Save
        </Button>
      )}
    </form>
  );
}

/** Deleting cannot be undone, so it says what goes, and the name has to be typed. */
function DeleteRoom({ space, open, onClose }: { space: Space; open: boolean; onClose(): void }) {
  const [typed, setTyped] = useState("");
  const [found, setFound] = useState<SpaceContents | null>(null);
  const [busy, setBusy] = useState(false);
  const [, go] = useLocation();
  if (open && !found) void api.spaceContents(space.id).then(setFound, toast);
  const remove = async (): Promise<void> => {
    setBusy(true);
    try {
      await api.deleteSpace(space.id);
      await loadSpaces();
      onClose();
      go("/");
      done(`#${space.name} is deleted`);
    } catch (error) {
      toast(error);
    }
    setBusy(false);
  };
  return (
    <Dialog title={`Delete #${space.name}?`} open={open} onClose={onClose}>
      <form
        className={s.dialogform}
        onSubmit={(event) => {
          event.preventDefault();
          void remove();
        }}
      >
        <Notice tone="warn">
          Everything in it goes for good{found ? `: ${contentsOf(found)}` : ""}. There is no undo. Archiving keeps it.
        </Notice>
        <label className={p.field}>
          <span>
            Type <b>{space.name}</b> to delete it
          </span>
          <input autoFocus value={typed} onChange={(event) => setTyped(event.target.value)} autoComplete="off" />
        </label>
        <div className={`${p.actions} ${p.end}`}>
          <Button onClick={onClose}>Keep it</Button>
          <Button look="danger" type="submit" busy={busy} disabled={typed.trim() !== space.name}>
            Delete for good
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function contentsOf(found: SpaceContents): string {
  const parts = [
    [found.messages, "message"],
    [found.files, "file"],
    [found.tasks, "task"],
    [found.skills, "skill"],
    [found.runs, "run"],
  ] as const;
  const some = parts.filter(([number]) => number > 0).map(([number, word]) => count(number, word));
  const weight = found.bytes ? ` (${size(found.bytes)})` : "";
  return some.length ? some.join(", ") + weight : "nothing was said in it yet";
}
