// Where a budget stops somebody: the way to a higher one.
import { lazy, Suspense, useState } from "react";
import { useLive } from "../live/store";
import { TextButton } from "../parts/Button";
import { Dialog } from "../parts/Dialog";

const Reached = lazy(() => import("./Reached"));

export function RaiseLimit({ agentId, spaceId }: { agentId: string; spaceId: string }) {
  const may = useLive((state) => state.me?.grants.includes("manage_agents") ?? false);
  const [open, setOpen] = useState(false);
  if (!may) return null;
  return (
    <>
      <TextButton onClick={() => setOpen(true)}>Raise the limit</TextButton>
      <Dialog title="Raise the limit" open={open} onClose={() => setOpen(false)}>
        <Suspense fallback={null}>
          <Reached agentId={agentId} spaceId={spaceId} onDone={() => setOpen(false)} />
        </Suspense>
      </Dialog>
    </>
  );
}
