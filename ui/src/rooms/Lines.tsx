// Rows of a timeline that nobody says: where a room begins, what the office says, who stayed silent, who joined.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { CirclePause, CircleSlash, Link2Off, LogIn, Square, VolumeX } from "lucide-react";
import { api } from "../api/client";
import { Link } from "wouter";
import type { Message } from "../api/nouns";
import { send } from "../live/outbox";
import type { Notice } from "../live/state";
import { useLive, useLiveShallow } from "../live/store";
import { TextButton } from "../parts/Button";
import { usePanel } from "../parts/panel";
import { toast } from "../parts/toasts";
import { stoppedBy } from "../words/en";
import { TryAgain } from "./AnswerAgain";
import { titleOf, useName } from "./names";
import { RaiseLimit } from "./RaiseLimit";
import s from "./rooms.module.css";

export function Beginning({ spaceId }: { spaceId: string }) {
  const space = useLive((state) => state.spaces[spaceId]);
  const title = useLive((state) => (space ? titleOf(space, state) : ""));
  const empty = useLive((state) => !state.rooms[spaceId]?.messages.length);
  const agent = useLive((state) => space?.memberDetails.find((member) => member.kind === "agent" && member.id !== state.me?.id)?.name);
  if (!space) return null;
  return (
    <div className={s.start}>
      <h2>{space.kind === "dm" ? title : `# ${title}`}</h2>
      <p>
        {empty ? "Nobody has said anything yet." : "This is where it begins."}{" "}
        {space.kind !== "dm" && space.wake.people === "mention" && agent ? `Agents here answer when mentioned: try “@${agent} what can you do?”` : null}
      </p>
    </div>
  );
}

export function SystemRow({ message }: { message: Message }) {
  const [, setPanel] = usePanel();
  const last = useLive((state) => {
    const messages = state.rooms[message.spaceId]?.messages ?? [];
    return messages.findLast((each) => each.seq < message.seq && each.authorKind === "agent")?.authorId;
  });
  const before = useLive((state) => state.rooms[message.spaceId]?.messages.findLast((each) => each.seq < message.seq)?.id);
  const name = useName(last);
  const stopped = useLiveShallow((state) => Object.values(state.runs).filter((run) => run.spaceId === message.spaceId && !run.finishedAt && run.pausedReason && message.text.startsWith(run.pausedReason)));
  if (message.metadata.skill) return <SkillRow message={message} />;
  if (stopped.length)
    return (
      <div className={s.sys}>
        <CirclePause size={15} aria-hidden />
        <span>{message.text}</span>
        <RaiseLimit agentId={stopped[0]?.agentId ?? ""} spaceId={message.spaceId} />
        <Link href={`/runs/${stopped[0]?.id}`}>See the run</Link>
      </div>
    );
  if (!message.metadata.chainId) return <div className={s.sys}>{message.text}</div>;
  const text = `@${name} go on`;
  return (
    <div className={s.chain}>
      <Link2Off size={16} aria-hidden />
      <span>{message.text}</span>
      <span>
        <TextButton title={`Posts “${text}” as you`} onClick={() => send(message.spaceId, text)}>
          Let them go on
        </TextButton>
        {before && <TextButton onClick={() => setPanel("why", before)}>Why?</TextButton>}
      </span>
    </div>
  );
}

/** An agent has stored a skill for somebody. As long as it says the same, one click takes that back. */
function SkillRow({ message }: { message: Message }) {
  const { name, hash } = message.metadata.skill as { name: string; hash: string };
  const member = useLive((state) => state.spaces[message.spaceId]?.members.includes(state.me?.id ?? "") ?? false);
  const skills = useQuery({ queryKey: ["skills", message.spaceId], queryFn: () => api.skills({ spaceId: message.spaceId }) });
  const queries = useQueryClient();
  const skill = skills.data?.items.find((each) => each.name === name && each.hash === hash && each.undoable);
  const undo = (): void => {
    if (!skill) return;
    void api.undoSkill(skill, hash).catch(toast).finally(() => void queries.invalidateQueries({ queryKey: ["skills"] }));
  };
  return (
    <div className={s.sys}>
      <span>{message.text}</span>{" "}
      {skill && member && (
        <TextButton title={`/${name} says again what it said before, or is gone`} onClick={undo}>
          Undo
        </TextButton>
      )}
    </div>
  );
}

export function NoticeRow({ notice, spaceId }: { notice: Notice; spaceId: string }) {
  const name = useName(notice.agentId);
  const by = useName(notice.by);
  // The office says so itself where it is known who did it; here is what can be done about it.
  const said = useLive((state) => state.rooms[spaceId]?.messages.some((each) => each.type === "system" && each.text === stoppedBy(name, by)) ?? false);
  const [, setPanel] = usePanel();
  if (notice.kind === "stopped")
    return (
      <div className={s.sys}>
        {!said && <Square size={13} aria-hidden />}
        {!said && <span>{stoppedBy(name, by)}</span>}
        {notice.runId && <TryAgain runId={notice.runId} />}
        <TextButton onClick={() => setPanel("run", notice.runId ?? "")}>Show its run</TextButton>
      </div>
    );
  if (notice.kind === "joined" || notice.kind === "left")
    return (
      <div className={s.sys}>
        <LogIn size={15} aria-hidden /> <span><bdi>{name}</bdi> {notice.kind === "joined" ? "joined." : "left."}</span>
      </div>
    );
  return (
    <div className={s.sys}>
      {notice.kind === "silent" ? <VolumeX size={15} aria-hidden /> : <CircleSlash size={15} aria-hidden />}
      <span>{notice.kind === "silent" ? `${name} read this and chose not to answer.` : `${name} wrote an answer but did not send it.`}</span>
      <TextButton onClick={() => setPanel("run", notice.runId ?? "")}>Why?</TextButton>
    </div>
  );
}
