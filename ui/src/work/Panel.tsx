// The right panel: opened by what was clicked, closed by Esc, kept in the address.
import { X } from "lucide-react";
import { useEffect, useRef } from "react";
import { IconButton } from "../parts/Button";
import { usePanel } from "../parts/panel";
import { Details } from "../rooms/Details";
import { Find } from "../rooms/Find";
import { Thread } from "../rooms/Thread";
import r from "../rooms/rooms.module.css";
import { AgentCard } from "./AgentCard";
import { RunPanel, WhyPanel } from "./Why";

const TITLES = { why: "Why?", run: "Run", thread: "Replies", details: "Room details", agent: "Agent", search: "Search in this room" };

export default function Panel({ spaceId }: { spaceId: string | null }) {
  const [panel, setPanel] = usePanel();
  const heading = useRef<HTMLHeadingElement>(null);
  const before = useRef<Element | null>(null);
  useEffect(() => {
    before.current = document.activeElement;
    if (panel?.kind !== "thread" && panel?.kind !== "search") heading.current?.focus();
    return () => {
      if (before.current instanceof HTMLElement && before.current.isConnected) before.current.focus({ preventScroll: true });
    };
  }, [panel?.kind, panel?.id]);
  if (!panel) return null;
  return (
    <aside className={r.panel} aria-label={TITLES[panel.kind] ?? "Panel"} data-panelbox>
      <header>
        <h2 ref={heading} tabIndex={-1}>
          {TITLES[panel.kind] ?? "Panel"}
        </h2>
        <IconButton label="Close" onClick={() => setPanel(null)}>
          <X size={17} />
        </IconButton>
      </header>
      {panel.kind === "why" && <WhyPanel key={panel.id} messageId={panel.id} />}
      {panel.kind === "run" && <RunPanel key={panel.id} runId={panel.id} />}
      {panel.kind === "agent" && <AgentCard key={panel.id} id={panel.id} />}
      {panel.kind === "thread" && spaceId && <Thread key={panel.id} spaceId={spaceId} rootId={panel.id} />}
      {panel.kind === "search" && spaceId && <Find key={spaceId} spaceId={spaceId} />}
      {panel.kind === "details" && spaceId && <Details key={spaceId} spaceId={spaceId} />}
    </aside>
  );
}
