// Tabs at the door: signing in in one of them is enough.
const channel = "BroadcastChannel" in window ? new BroadcastChannel("bullpen-door") : null;

export function tellEntered(): void {
  channel?.postMessage("entered");
}

export function whenEnteredElsewhere(then: () => void): () => void {
  channel?.addEventListener("message", then);
  return () => channel?.removeEventListener("message", then);
}
