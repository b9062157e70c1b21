// What somebody does to messages: shown at once, put right by the answer.
import { api } from "../api/client";
import type { EventOf, Message, Space } from "../api/nouns";
import { done, toast } from "../parts/toasts";
import { loaded, reduce, withSpace } from "../live/reduce";
import { change, store } from "../live/store";

export async function updateRoom(space: Space, body: object, words: string, undo?: object): Promise<void> {
  try {
    const changed = await api.updateSpace(space.id, body);
    change((state) => withSpace(state, changed));
    done(words, undo && (() => void updateRoom(space, undo, "Changed back")));
  } catch (error) {
    toast(error);
  }
}

/** Whether somebody is in it now. */
export async function joinRoom(spaceId: string): Promise<boolean> {
  try {
    await api.addMember(spaceId, store.getState().me?.id ?? "");
    const space = await api.space(spaceId);
    change((state) => withSpace(state, space));
    return true;
  } catch (error) {
    toast(error);
    return false;
  }
}

export async function toggleReaction(message: Message, emoji: string): Promise<void> {
  const me = store.getState().me?.id ?? "";
  const mine = message.reactions.some((each) => each.emoji === emoji && each.memberIds.includes(me));
  const event = (added: boolean): EventOf<"reaction_added" | "reaction_removed"> => ({
    type: added ? "reaction_added" : "reaction_removed", at: new Date().toISOString(), spaceId: message.spaceId,
    reaction: { messageId: message.id, memberId: me, emoji },
  });
  change((state) => reduce(state, [event(!mine)]));
  try {
    await (mine ? api.unreact(message.id, emoji) : api.react(message.id, emoji));
  } catch (error) {
    change((state) => reduce(state, [event(mine)]));
    toast(error);
  }
}

/** `editedAt` is the message's when its writer began: an edit made since then, elsewhere, is not overwritten. */
export async function editMessage(message: Message, text: string, editedAt: string | null): Promise<void> {
  try {
    const changed = await api.edit(message.id, text, editedAt);
    change((state) => loaded(state, message.spaceId, [changed]));
  } catch (error) {
    toast(error);
    throw error;
  }
}

export async function deleteMessage(message: Message): Promise<void> {
  try {
    const gone = await api.remove(message.id);
    change((state) => loaded(state, message.spaceId, [gone]));
  } catch (error) {
    toast(error);
  }
}

/** Open the conversation with somebody, which is made if there was none. */
export async function write(me: string, other: string, go: (to: string) => void): Promise<void> {
  try {
    const space = await api.createSpace({ kind: "dm", members: [me, other] });
    change((state) => withSpace(state, space));
    go(`/rooms/${space.id}`);
  } catch (error) {
    const id = `dm-${[me, other].sort().join("-")}`;
    if ((error as { status?: number }).status === 409) go(`/rooms/${id}`);
    else toast(error);
  }
}
