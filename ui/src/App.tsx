// Who am I? Then the office, or the way in.
import { QueryClientProvider } from "@tanstack/react-query";
import { Component, lazy, Suspense, useEffect, useState, type ReactNode } from "react";
import { api, Problem } from "./api/client";
import type { Me } from "./api/nouns";
import { loadBrought } from "./cards/brought";
import { queries } from "./live/queries";
import { begin } from "./live/session";
import { store, useLive } from "./live/store";
import { Failed, Skeleton } from "./parts/Notice";
import { Toasts } from "./parts/toasts";
import { readHash, type Entry } from "./start/hash";
import { Office } from "./Office";

const Start = lazy(() => import("./start/Start"));

type Stage = { at: "asking" } | { at: "door"; entry: Entry } | { at: "office" } | { at: "failed"; error: unknown };

export function App() {
  const [stage, setStage] = useState<Stage>({ at: "asking" });
  const link = useLive((state) => state.link);

  const enter = (me: Me): void => {
    // Whoever signs in again, perhaps as somebody else, begins with nothing that was there before.
    if (store.getState().me) {
      location.reload();
      return;
    }
    setStage({ at: "office" });
    void loadBrought();
    begin(me).catch((error: unknown) => setStage({ at: "failed", error }));
  };

  const look = async (): Promise<void> => {
    const entry = readHash();
    if (entry.kind === "claim" || entry.kind === "invite") {
      setStage({ at: "door", entry });
      return;
    }
    try {
      enter(await api.me());
    } catch (error) {
      if (error instanceof Problem && error.code === "setup_required") setStage({ at: "door", entry: { kind: "unclaimed" } });
      else if (error instanceof Problem && error.status === 401) setStage({ at: "door", entry: { kind: "session" } });
      else setStage({ at: "failed", error });
    }
  };

  useEffect(() => {
    void look();
    const again = (): void => {
      if (/^#(claim|invite)=/.test(location.hash)) void look();
      else readHash();
    };
    window.addEventListener("hashchange", again);
    return () => window.removeEventListener("hashchange", again);
  }, []);

  useEffect(() => {
    if (link === "signedOut") setStage({ at: "door", entry: { kind: "session", again: true } });
  }, [link]);

  return (
    <QueryClientProvider client={queries}>
      <Guard>
        {stage.at === "asking" && <Skeleton />}
        {stage.at === "failed" && <Failed error={stage.error} onRetry={() => (setStage({ at: "asking" }), void look())} />}
        {stage.at === "door" && (
          <Suspense fallback={<Skeleton />}>
            <Start entry={stage.entry} onEntered={enter} />
          </Suspense>
        )}
        {stage.at === "office" && <Office />}
      </Guard>
      <Toasts />
    </QueryClientProvider>
  );
}

/** A view that throws must not take the page with it. */
class Guard extends Component<{ children: ReactNode }, { error: unknown }> {
  override state = { error: null as unknown };

  static getDerivedStateFromError(error: unknown): { error: unknown } {
    return { error };
  }

  override render(): ReactNode {
    if (this.state.error) return <Failed error={this.state.error} onRetry={() => location.reload()} />;
    return this.props.children;
  }
}
