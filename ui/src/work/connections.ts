// Connections, as several views ask for them. Only those who look after agents may.
import { useQuery } from "@tanstack/react-query";
import { api } from "../api/client";
import type { Connection } from "../api/nouns";
import { useLive } from "../live/store";
import { modelWords } from "../words/en";

export function useConnections() {
  const manages = useLive((state) => state.me?.grants.includes("manage_agents") ?? false);
  return useQuery({ queryKey: ["connections"], queryFn: () => api.connections(), enabled: manages });
}

export function useOffered(id: string | undefined) {
  return useQuery({ queryKey: ["offered", id], queryFn: () => api.offered(id ?? ""), enabled: !!id, staleTime: 60_000 });
}

/** What an agent runs on, with the connection's name. */
export function runsOnWords(model: unknown, connections: readonly Connection[]): string {
  const id = (model as { connection?: string } | null)?.connection;
  const connection = connections.find((each) => each.id === id);
  return connection ? `${modelWords(model)} · ${connection.name}` : modelWords(model);
}

export function isScript(model: unknown): boolean {
  return typeof model === "string" ? model.startsWith("script:") : (model as { provider?: string } | null)?.provider === "script";
}
