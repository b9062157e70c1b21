// Files that somebody is about to send, per place to write in. They go on while another room is open, and so does a
// message that waits for them.
import { useStore } from "zustand";
import { createStore } from "zustand/vanilla";
import { upload } from "../api/client";
import type { File_ } from "../api/nouns";
import { sentence } from "../api/problems";
import { draftOf, keepDraft } from "../live/drafts";
import { send } from "../live/outbox";

/** Where something is written: a room, or the replies to a message in it. */
export type Place = { spaceId: string; replyTo?: string };
export type Upload = { key: number; name: string; share: number; file?: File_; problem?: string; stop(): void };
/** `waits`: it was sent, and goes out when the files are there. */
type Held = { list: Upload[]; waits: boolean };

const MOST = 10;
const NONE: Held = { list: [], waits: false };
const held = createStore<Record<string, Held>>(() => ({}));
let next = 1;

export const draftKey = ({ spaceId, replyTo }: Place): string => (replyTo ? `${spaceId}/${replyTo}` : spaceId);

export const useUploads = (place: Place): Held => useStore(held, (all) => all[draftKey(place)] ?? NONE);
const at = (place: Place): Held => held.getState()[draftKey(place)] ?? NONE;
const put = (place: Place, change: Partial<Held>): void => held.setState({ [draftKey(place)]: { ...at(place), ...change } });

function patch(place: Place, key: number, change: Partial<Upload>): void {
  put(place, { list: at(place).list.map((each) => (each.key === key ? { ...each, ...change } : each)) });
}

export function addFiles(place: Place, files: readonly File[]): void {
  for (const file of files.slice(0, MOST)) {
    const key = next++;
    const begun = upload(file, place.spaceId, (share) => patch(place, key, { share }));
    put(place, { list: [...at(place).list, { key, name: file.name, share: 0, stop: begun.stop }] });
    begun.done.then(
      (made) => {
        patch(place, key, { file: made, share: 1 });
        goOn(place);
      },
      // What waits for it is not sent without it: whoever wrote it decides.
      (error: unknown) => {
        if (!at(place).list.some((each) => each.key === key)) return; // taken away
        patch(place, key, { problem: sentence(error) });
        put(place, { waits: false });
      },
    );
  }
}

/** Files that are already there: of a message that could not be sent. */
export function addSent(place: Place, files: readonly File_[]): void {
  const list = files.map((file) => ({ key: next++, name: file.name, share: 1, file, stop: () => undefined }));
  put(place, { list: [...at(place).list, ...list] });
}

export function removeFile(place: Place, key: number): void {
  at(place).list.find((each) => each.key === key)?.stop();
  put(place, { list: at(place).list.filter((each) => each.key !== key) });
  goOn(place);
}

const busy = (place: Place): boolean => at(place).list.some((each) => !each.file && !each.problem);

/** Send what stands in the draft of this place, once its files are there. Whether it is out already. */
export function submit(place: Place): boolean {
  const text = draftOf(draftKey(place)).trim();
  const files = at(place).list.flatMap((each) => (each.file ? [each.file] : []));
  const waits = busy(place);
  if (waits || (!text && !files.length)) {
    put(place, { waits });
    return false;
  }
  if (!send(place.spaceId, text, { replyTo: place.replyTo, attachments: files })) return false;
  put(place, NONE);
  keepDraft(draftKey(place), "");
  window.dispatchEvent(new CustomEvent("bullpen:sent", { detail: draftKey(place) }));
  return true;
}

function goOn(place: Place): void {
  if (at(place).waits && !busy(place)) submit(place);
}

/** A message that could not be sent, back to where it was written, before what stands there by now. */
export function takeBack(place: Place, text: string, files: readonly File_[]): void {
  const key = draftKey(place);
  keepDraft(key, [text, draftOf(key)].filter((each) => each.trim()).join("\n\n"));
  addSent(place, files);
  window.dispatchEvent(new CustomEvent("bullpen:draft", { detail: key }));
}
