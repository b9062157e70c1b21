// Questions to the server that several views share. Events make them be asked again (live/session.ts).
import { useQuery } from "@tanstack/react-query";
import { api } from "../api/client";
import type { Agent, PendingCall } from "../api/nouns";
import { isMine } from "../live/mine";
import { useLive } from "../live/store";

export type Waiting = { needsMe: PendingCall[]; others: PendingCall[]; all: PendingCall[] };

function byDeadline(a: PendingCall, b: PendingCall): number {
  return (a.expiresAt ?? "9").localeCompare(b.expiresAt ?? "9") || a.createdAt.localeCompare(b.createdAt);
}

export function usePending() {
  const me = useLive((state) => state.me);
  const spaces = useLive((state) => state.spaces);
  return useQuery({
    queryKey: ["pending", "open"],
    queryFn: () => api.pending(),
    select: (page): Waiting => {
      const mine = (call: PendingCall): boolean => isMine(call, { me, spaces });
      const all = [...page.items].sort(byDeadline);
      return { all, needsMe: all.filter(mine), others: all.filter((call) => !mine(call)) };
    },
  });
}

export function usePendingCall(callId: string | undefined): PendingCall | undefined {
  const found = useQuery({ queryKey: ["pending", "one", callId], queryFn: () => api.pendingCall(callId ?? ""), enabled: !!callId, retry: false });
  return callId ? found.data : undefined;
}

export function useAgents() {
  return useQuery({ queryKey: ["agents"], queryFn: () => api.agents() });
}

export function useAgent(id: string | undefined): Agent | undefined {
  return useAgents().data?.items.find((agent) => agent.id === id);
}
