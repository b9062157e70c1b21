// A notification when somebody mentions me, writes to me, or waits for me, while I look elsewhere.
import type { OfficeEvent, PendingCall } from "../api/nouns";
import { mentions } from "../parts/mentions";
import { waitsFor } from "../words/en";
import { interrupt } from "./announce";
import { kept } from "./kept";
import { isMine } from "./mine";
import { isMuted } from "./muted";
import { store } from "./store";

export function notificationsWanted(): boolean {
  return kept("notify", false) && "Notification" in window && Notification.permission === "granted";
}

export async function allowNotifications(): Promise<boolean> {
  if (!("Notification" in window)) return false;
  if ("serviceWorker" in navigator) await navigator.serviceWorker.register("/assets/notify-worker.js").catch(() => undefined);
  return (await Notification.requestPermission()) === "granted";
}

/** The call of this event, if it has just begun to wait for me. */
function askedOf(event: OfficeEvent): PendingCall | undefined {
  if (event.type !== "tool.requires_action") return undefined;
  return isMine({ kind: event.call.kind, spaceId: event.spaceId, args: event.call.args }, store.getState()) ? event.call : undefined;
}

/** Screen readers are told at once of a card that needs somebody, in whichever room. */
export function callOut(event: OfficeEvent): void {
  const call = askedOf(event);
  if (call) interrupt(waitsFor(store.getState().members[event.agentId ?? ""]?.name, call));
}

export function notify(event: OfficeEvent): void {
  if (!notificationsWanted() || (document.hasFocus() && !document.hidden)) return;
  const { me, spaces, members } = store.getState();
  if (event.type === "message_created" && me && event.message.authorId !== me.id) {
    const message = event.message;
    const space = spaces[message.spaceId];
    if (isMuted(message.spaceId)) return;
    if (space?.kind !== "dm" && !mentions(message.text, [me]).length) return;
    const author = members[message.authorId]?.name ?? message.authorId;
    void show(`${author}${space && space.kind !== "dm" ? ` in #${space.name}` : ""}`, message.text.slice(0, 200), message.id, `/rooms/${message.spaceId}?message=${message.id}`);
  }
  const call = askedOf(event);
  if (call) {
    const agent = members[event.agentId ?? ""]?.name ?? "An agent";
    void show(`${agent} waits for you`, call.toolName, call.callId, "/pending");
  }
}

async function show(title: string, body: string, tag: string, address: string): Promise<void> {
  const options: NotificationOptions = { body, tag, icon: "/assets/icon-192.png", data: { address } };
  const worker = await navigator.serviceWorker?.getRegistration("/assets/").catch(() => undefined);
  if (worker) await worker.showNotification(title, options);
  else {
    const shown = new Notification(title, options);
    shown.onclick = () => {
      window.focus();
      window.dispatchEvent(new CustomEvent("bullpen:go", { detail: address }));
    };
  }
}
