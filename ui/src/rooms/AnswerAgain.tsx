// Buttons for another answer. Both answers stay.
import { RotateCcw } from "lucide-react";
import { useState } from "react";
import { Link } from "wouter";
import { useLive } from "../live/store";
import { IconButton, TextButton } from "../parts/Button";
import { retryRun } from "./askAgain";

/** The same run once more: the same question, read anew. Where the office cannot do that, the question is asked again. */
export function TryAgain({ runId, icon }: { runId: string; icon?: boolean }) {
  const [busy, setBusy] = useState(false);
  const over = useLive((state) => !state.runs[runId] || !!state.runs[runId]?.finishedAt);
  const act = async (): Promise<void> => {
    setBusy(true);
    await retryRun(runId);
    setBusy(false);
  };
  if (!over) return null;
  const label = "Try again";
  return icon ? (
    <IconButton label={label} mini disabled={busy} onClick={() => void act()}>
      <RotateCcw size={16} />
    </IconButton>
  ) : (
    <TextButton disabled={busy} onClick={() => void act()}>
      <RotateCcw size={12} aria-hidden /> {label}
    </TextButton>
  );
}

/** That an answer is not the first one, and where that is. */
export function SecondTry({ retryOf }: { retryOf: string }) {
  const first = useLive((state) => state.runs[retryOf]);
  const message = first?.messageIds.at(-1);
  const to = first?.spaceId && message ? `/rooms/${first.spaceId}?message=${message}` : `/runs/${retryOf}`;
  return (
    <span>
      Second try · <Link href={to}>the first</Link>
    </span>
  );
}
