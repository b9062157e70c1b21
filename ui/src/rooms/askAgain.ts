// Another answer to the same question: the run once more, or the question once more. What was answered before stays.
import { api } from "../api/client";
import type { Message } from "../api/nouns";
import { send } from "../live/outbox";
import { withRun } from "../live/reduce";
import { change, store } from "../live/store";
import { toast } from "../parts/toasts";

/** The message that a run answered. */
export async function questionOf(runId: string): Promise<Message | null> {
  try {
    const run = store.getState().runs[runId] ?? (await api.run(runId));
    const { messageId, spaceId } = run.trigger;
    if (!messageId) return null;
    const there = spaceId ? store.getState().rooms[spaceId]?.messages.find((each) => each.id === messageId) : undefined;
    return there ?? (await api.message(messageId));
  } catch (error) {
    toast(error);
    return null;
  }
}

export async function retryRun(runId: string): Promise<boolean> {
  try {
    const run = await api.retryRun(runId);
    change((state) => withRun(state, run));
    return true;
  } catch (error) {
    toast(error);
    return false;
  }
}

/** The same words again, as whoever presses the button. */
export async function askAgain(runId: string): Promise<void> {
  const question = await questionOf(runId);
  if (!question) return toast("What it answered is not here any more.");
  send(question.spaceId, question.text, { replyTo: question.replyTo ?? undefined, attachments: question.attachments });
}

/** Open the question for editing; it is asked again when it is saved. */
export async function editAndAsk(runId: string): Promise<void> {
  const question = await questionOf(runId);
  if (!question) return toast("What it answered is not here any more.");
  if (question.authorId === store.getState().me?.id) window.dispatchEvent(new CustomEvent("bullpen:edit", { detail: question.id }));
  else window.dispatchEvent(new CustomEvent("bullpen:write", { detail: { spaceId: question.spaceId, text: question.text } }));
}

/** The last run that answered a message: it can be tried again after an edit. */
export function lastRunOf(messageId: string): string | undefined {
  return Object.values(store.getState().runs).findLast((run) => run.trigger.messageId === messageId && !!run.finishedAt)?.id;
}
