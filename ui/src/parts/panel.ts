// The right panel lives in the address (?panel=why:msg_…), so that it can be shared, reloaded and closed by "back".
import { useCallback } from "react";
import { useSearchParams } from "wouter";

export type PanelKind = "why" | "run" | "thread" | "details" | "agent" | "search";
export type PanelPlace = { kind: PanelKind; id: string } | null;

export function usePanel(): [PanelPlace, (kind: PanelKind | null, id?: string) => void] {
  const [search, setSearch] = useSearchParams();
  const [kind, ...rest] = (search.get("panel") ?? "").split(":");
  const set = useCallback(
    (next: PanelKind | null, id = "") => {
      setSearch((before) => {
        const params = new URLSearchParams(before);
        params.delete("message");
        if (next) params.set("panel", id ? `${next}:${id}` : next);
        else params.delete("panel");
        return params;
      });
    },
    [setSearch],
  );
  return [kind ? { kind: kind as PanelKind, id: rest.join(":") } : null, set];
}
