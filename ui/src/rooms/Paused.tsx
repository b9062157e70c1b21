// Agents of a room that are paused: said before somebody writes to them, with what becomes of it.
import { CirclePause } from "lucide-react";
import { useState } from "react";
import { api } from "../api/client";
import { useLive, useLiveShallow } from "../live/store";
import { Button } from "../parts/Button";
import { toast } from "../parts/toasts";
import { pausedHere } from "../words/en";
import { nameOf } from "./names";
import s from "./rooms.module.css";

export function Paused({ spaceId }: { spaceId: string }) {
  const all = useLive((state) => state.allPaused);
  const manages = useLive((state) => state.me?.grants.includes("manage_agents") ?? false);
  const members = useLive((state) => state.members);
  const agents = useLiveShallow((state) => (state.spaces[spaceId]?.memberDetails ?? []).filter((each) => each.kind === "agent").map((each) => each.id));
  const alone = useLiveShallow((state) => agents.filter((id) => state.paused[id]));
  const [busy, setBusy] = useState(false);
  if (!agents.length || (!all && !alone.length)) return null;
  const resume = async (): Promise<void> => {
    setBusy(true);
    try {
      await (all ? api.resumeAll() : Promise.all(alone.map((id) => api.resumeAgent(id))));
    } catch (error) {
      toast(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <div className={s.paused} role="status">
      <CirclePause size={15} aria-hidden />
      <span>{pausedHere(all, alone.map((id) => nameOf(members, id)))}</span>
      {manages && (
        <Button busy={busy} onClick={() => void resume()}>
          {all ? "Let all go on" : alone.length === 1 ? `Let ${nameOf(members, alone[0])} go on` : "Let them go on"}
        </Button>
      )}
    </div>
  );
}
