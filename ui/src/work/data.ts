// Questions to the server that several views share. Events make them be asked again (live/session.ts).
import { useQuery } from "@tanstack/react-query";
import { api } from "../api/client";
import type { Agent, PendingCall, RunMessage, Span } from "../api/nouns";
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

export function useProposals(spaceId = "") {
  return useQuery({ queryKey: ["skills", spaceId], queryFn: () => api.skills({ spaceId }), select: (page) => page.items.filter((skill) => skill.proposal) });
}

export function useAgents() {
  return useQuery({ queryKey: ["agents"], queryFn: () => api.agents() });
}

export function useAgent(id: string | undefined): Agent | undefined {
  return useAgents().data?.items.find((agent) => agent.id === id);
}

/** The whole journal of a run; `more`: it is longer than anybody reads. */
export async function journalOf(runId: string): Promise<{ entries: RunMessage[]; more: boolean }> {
  const { items, next } = await api.runMessages(runId);
  return { entries: items, more: !!next };
}

export async function traceOf(runId: string): Promise<Span[]> {
  return (await api.trace(runId)).spans;
}

/** Calls of a run that somebody had to answer. */
export async function waitedOf(runId: string): Promise<PendingCall[]> {
  const pages = await Promise.all([undefined, "resolved", "expired", "cancelled"].map((status) => api.pending({ status })));
  return pages.flatMap((page) => page.items).filter((call) => call.runId === runId);
}
