// What somebody has begun and not sent: a form half filled in, a choice, an edit. Rows of a long list come and go with
// scrolling, and a card is drawn as answered before the office has said so; what was typed outlives both.
import { useCallback } from "react";
import { useStore } from "zustand";
import { createStore } from "zustand/vanilla";

const begun = createStore<Record<string, unknown>>(() => ({}));

/** Like useState, but under a name, such as `call_1/reason`, and kept until it is forgotten. */
export function useBegun<T>(name: string, initial: T): [T, (value: T) => void] {
  const value = useStore(begun, (all) => (name in all ? (all[name] as T) : initial));
  const set = useCallback((next: T) => begun.setState({ [name]: next }), [name]);
  return [value, set];
}

/** Everything under `owner/`: it was sent, or is over. */
export function forget(owner: string): void {
  const all = begun.getState();
  if (!Object.keys(all).some((name) => name.startsWith(`${owner}/`))) return;
  begun.setState(Object.fromEntries(Object.entries(all).filter(([name]) => !name.startsWith(`${owner}/`))), true);
}
