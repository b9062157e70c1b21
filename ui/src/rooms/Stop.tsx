// Stop, wherever an agent is seen at work: beside "is writing", on the growing message, on its card.
import { Square } from "lucide-react";
import { useState } from "react";
import { api } from "../api/client";
import { useLive } from "../live/store";
import { TextButton } from "../parts/Button";
import { toast } from "../parts/toasts";
import { useName } from "./names";
import s from "./rooms.module.css";

/** The run that an agent is at in a room, or anywhere. */
export function useRunOf(agentId: string, spaceId?: string): string | undefined {
  return useLive((state) => {
    if (spaceId) return state.rooms[spaceId]?.typing[agentId]?.runId;
    for (const room of Object.values(state.rooms)) if (room.typing[agentId]?.runId) return room.typing[agentId].runId;
    return Object.values(state.runs).find((run) => run.agentId === agentId && !run.finishedAt && !run.pausedReason)?.id;
  });
}

export function StopButton({ agentId, runId }: { agentId: string; runId: string }) {
  const name = useName(agentId);
  const [stops, setStops] = useState(false);
  const stop = async (): Promise<void> => {
    setStops(true);
    try {
      await api.cancelRun(runId);
    } catch (error) {
      setStops(false);
      toast(error);
    }
  };
  return (
    <TextButton className={s.stop} disabled={stops} onClick={() => void stop()} aria-label={`Stop ${name}`}>
      <Square size={10} aria-hidden /> {stops ? "Stopping…" : "Stop"}
    </TextButton>
  );
}
