// The one store. Views select small slices; whatever changes it goes through here.
import { useStore } from "zustand";
import { createStore } from "zustand/vanilla";
import { useShallow } from "zustand/shallow";
import { emptyState, type State } from "./state";

export const store = createStore<State>(() => emptyState);

export function change(next: (state: State) => State): void {
  const before = store.getState();
  const after = next(before);
  if (after !== before) store.setState(after, true);
}

export function useLive<T>(select: (state: State) => T): T {
  return useStore(store, select);
}

/** For selectors that build a new list or object each time. */
export function useLiveShallow<T>(select: (state: State) => T): T {
  return useStore(store, useShallow(select));
}
