import { useEffect, useRef, useState } from "react";
import type { Message } from "../api/nouns";
import { send } from "../live/outbox";
import { useLive } from "../live/store";
import { useBegun } from "../parts/begun";
import { Button } from "../parts/Button";
import p from "../parts/parts.module.css";
import { editMessage } from "./actions";
import { lastRunOf, retryRun } from "./askAgain";

export function EditBox({ message, owner, begins, onDone }: { message: Message; owner: string; begins: boolean; onDone(): void }) {
  const [text, setText] = useBegun(`${owner}/text`, message.text);
  const [editedAt, setEditedAt] = useBegun(`${owner}/editedAt`, message.editedAt ?? null);
  const [busy, setBusy] = useState(false);
  const box = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    setEditedAt(editedAt); // what is edited is the message as it is now, whatever becomes of it meanwhile
    if (!begins) return;
    box.current?.focus();
    box.current?.setSelectionRange(text.length, text.length);
  }, []);
  const answered = useLive((state) => Object.values(state.runs).some((run) => run.trigger.messageId === message.id && !!run.finishedAt));
  const save = async (asks = false): Promise<void> => {
    if (!text.trim() || (text === message.text && !asks)) return onDone();
    setBusy(true);
    try {
      if (text !== message.text) await editMessage(message, text, editedAt);
      onDone();
      const run = asks ? lastRunOf(message.id) : undefined;
      // Where the office cannot try a run again, the question is asked as a new one.
      if (run && !(await retryRun(run))) send(message.spaceId, text, { replyTo: message.replyTo ?? undefined });
    } catch {
      setBusy(false);
    }
  };
  return (
    <form
      className={p.field}
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <textarea
        ref={box}
        aria-label="Edit message"
        value={text}
        rows={2}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") {
            event.stopPropagation();
            onDone();
          }
          if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
            event.preventDefault();
            void save();
          }
        }}
      />
      <div className={p.actions}>
        <Button look="primary" type="submit" busy={busy}>
          Save
        </Button>
        {answered && (
          <Button busy={busy} onClick={() => void save(true)}>
            Save and ask again
          </Button>
        )}
        <Button look="quiet" onClick={onDone}>
          Cancel
        </Button>
      </div>
    </form>
  );
}
