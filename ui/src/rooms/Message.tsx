import { CornerUpLeft, Globe, Pin } from "lucide-react";
import { memo, useEffect, useState } from "react";
import type { Message as Msg } from "../api/nouns";
import { CallCard } from "../cards/CallCard";
import { discard, retry, type Unsent } from "../live/outbox";
import type { Partial_ } from "../live/state";
import { useLive, useLiveShallow } from "../live/store";
import { Clock } from "../parts/Ago";
import { forget, useBegun } from "../parts/begun";
import { TextButton } from "../parts/Button";
import { AgentTag, Face, type Presence } from "../parts/Face";
import { Markdown } from "../parts/Markdown";
import { usePanel } from "../parts/panel";
import { between, count, money, plainText } from "../words/en";
import { toggleReaction } from "./actions";
import { SecondTry } from "./AnswerAgain";
import { Attachments } from "./Attachments";
import { EditBox } from "./EditBox";
import { MessageTools } from "./MessageTools";
import { useName } from "./names";
import s from "./rooms.module.css";
import { StopButton } from "./Stop";
import { takeBack } from "./uploads";
import { Who } from "./Who";

export function usePresence(id: string): Presence {
  return useLive((state) => {
    if (state.members[id]?.kind !== "agent") return state.here[id] ? "here" : null;
    if (state.allPaused || state.paused[id]) return "paused";
    for (const room of Object.values(state.rooms)) {
      const typing = room.typing[id];
      if (typing) return typing.waiting ? "waiting" : "busy";
    }
    return null;
  });
}

export function Author({ id, at, children }: { id: string; at: string; children?: React.ReactNode }) {
  const isAgent = useLive((state) => state.members[id]?.kind === "agent");
  const role = useLive((state) => state.members[id]?.role);
  const [, setPanel] = usePanel();
  return (
    <div className={s.by}>
      <b>
        {isAgent ? (
          <button type="button" className={s.author} onClick={() => setPanel("agent", id)}>
            <Who id={id} />
          </button>
        ) : (
          <Who id={id} />
        )}
      </b>
      {isAgent && <AgentTag role={role} />}
      <Clock at={at} />
      {children}
    </div>
  );
}

function LiveFace({ id }: { id: string }) {
  const presence = usePresence(id);
  const isAgent = useLive((state) => state.members[id]?.kind === "agent");
  const [, setPanel] = usePanel();
  // For pointers: by keyboard and for screen readers the name beside it does the same.
  if (!isAgent) return <Face id={id} presence={presence} />;
  return (
    <span className={s.faceof} onClick={() => setPanel("agent", id)}>
      <Face id={id} presence={presence} />
    </span>
  );
}

export const MessageRow = memo(function MessageRow({ message, tight, runEnds, replies, inThread }: { message: Msg; tight: boolean; runEnds: boolean; replies?: number; inThread?: boolean }) {
  const me = useLive((state) => state.me);
  const members = useLiveShallow((state) => state.spaces[message.spaceId]?.memberDetails ?? []);
  const edit = `${message.id}/${inThread ? "thread" : "room"}`;
  const [editing, setEditing] = useBegun(`${edit}/editing`, false);
  const [begins, setBegins] = useState(false); // just now: a row that comes back takes nobody's focus
  const startEdit = (): void => (setBegins(true), setEditing(true));
  const outside = message.metadata.outside as string[] | undefined;
  const mine = message.authorId === me?.id;
  useEffect(() => {
    if (!mine || inThread) return;
    const take = (event: Event): void => {
      if ((event as CustomEvent<string>).detail === message.id) startEdit();
    };
    window.addEventListener("bullpen:edit", take);
    return () => window.removeEventListener("bullpen:edit", take);
  }, [mine, message.id, inThread]);
  return (
    <>
      {tight ? <span className={s.side} /> : <LiveFace id={message.authorId} />}
      <div>
        {!tight && (
          <Author id={message.authorId} at={message.createdAt}>
            {message.editedAt && !message.deletedAt && <span className={s.meta}>edited</span>}
          </Author>
        )}
        {message.replyTo && !inThread && <Quote spaceId={message.spaceId} id={message.replyTo} />}
        {message.deletedAt ? (
          <p className={s.gone}>This message was deleted.</p>
        ) : message.type === "tool" ? (
          <CallCard message={message} />
        ) : editing ? (
          <EditBox message={message} owner={edit} begins={begins} onDone={() => forget(edit)} />
        ) : (
          message.text && <Markdown text={message.text} members={members} meId={me?.id} />
        )}
        <Attachments files={message.attachments} />
        {outside?.length && message.type !== "tool" ? (
          <span className={s.outside}>
            <Globe size={13} aria-hidden /> read outside text: {outside.join(", ")}
          </span>
        ) : null}
        {runEnds && message.runId && <RunFoot runId={message.runId} messageId={message.id} />}
        <Reactions message={message} meId={me?.id ?? ""} />
        {!inThread && <Below message={message} replies={replies ?? 0} />}
      </div>
      {!message.deletedAt && <MessageTools message={message} mine={mine} onEdit={startEdit} />}
    </>
  );
});

/** What others made of it: answers below it, and whether it is kept at hand. */
function Below({ message, replies }: { message: Msg; replies: number }) {
  const [, setPanel] = usePanel();
  const isPinned = useLive((state) => state.rooms[message.spaceId]?.pins?.includes(message.id) ?? false);
  if (!replies && !isPinned) return null;
  return (
    <div className={s.foot}>
      {isPinned && (
        <span className={s.pinned}>
          <Pin size={12} aria-hidden /> pinned
        </span>
      )}
      {replies > 0 && (
        <TextButton onClick={() => setPanel("thread", message.id)}>
          {count(replies, "reply", "replies")}
        </TextButton>
      )}
    </div>
  );
}

function RunFoot({ runId, messageId }: { runId: string; messageId: string }) {
  const run = useLive((state) => state.runs[runId]);
  const [, setPanel] = usePanel();
  return (
    <div className={s.foot}>
      {run?.retryOf && <SecondTry retryOf={run.retryOf} />}
      {run?.finishedAt && <span>{`${between(run.startedAt, run.finishedAt)} · ${money(run.usage.cost, run.usage.unpriced)}`}</span>}
      <TextButton onClick={() => setPanel("why", messageId)}>Why this?</TextButton>
    </div>
  );
}

function Quote({ spaceId, id }: { spaceId: string; id: string }) {
  const message = useLive((state) => state.rooms[spaceId]?.messages.find((each) => each.id === id));
  const name = useName(message?.authorId);
  const [, setPanel] = usePanel();
  return (
    <button type="button" className={s.quote} onClick={() => setPanel("thread", id)}>
      <CornerUpLeft size={13} aria-hidden />
      <span>{message ? `${name}: ${message.deletedAt ? "deleted" : plainText(message.text).slice(0, 120)}` : "an earlier message"}</span>
    </button>
  );
}

function Reactions({ message, meId }: { message: Msg; meId: string }) {
  const members = useLive((state) => state.members);
  if (!message.reactions.length) return null;
  return (
    <div className={s.reactions}>
      {message.reactions.map(({ emoji, memberIds }) => {
        const who = memberIds.map((id) => members[id]?.name ?? id).join(", ");
        return (
          <button key={emoji} type="button" aria-pressed={memberIds.includes(meId)} aria-label={`${emoji}, ${memberIds.length}: ${who}`} title={who} onClick={() => void toggleReaction(message, emoji)}>
            {emoji} {memberIds.length}
          </button>
        );
      })}
    </div>
  );
}

export function UnsentRow({ item, tight, inThread }: { item: Unsent; tight: boolean; inThread?: boolean }) {
  const [, setPanel] = usePanel();
  const me = useLive((state) => state.me);
  const members = useLiveShallow((state) => state.spaces[item.spaceId]?.memberDetails ?? []);
  const online = useLive((state) => state.link === "live");
  const [slow, setSlow] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSlow(true), 400);
    return () => clearTimeout(timer);
  }, []);
  return (
    <>
      {tight ? <span className={s.side} /> : <Face id={me?.id ?? ""} />}
      <div>
        {!tight && <Author id={me?.id ?? ""} at={item.createdAt} />}
        {item.replyTo && !inThread && <Quote spaceId={item.spaceId} id={item.replyTo} />}
        {item.text && <Markdown text={item.text} members={members} meId={me?.id} />}
        <Attachments files={item.attachments} />
        {item.failed ? (
          <p className={s.bad} role="alert">
            Not sent. {item.failed}
            <TextButton onClick={() => retry(item.clientMessageId)}>Try again</TextButton>
            <TextButton
              onClick={() => {
                discard(item.clientMessageId);
                takeBack(item, item.text, item.attachments);
                if (item.replyTo && !inThread) setPanel("thread", item.replyTo);
              }}
            >
              Edit
            </TextButton>
            <TextButton onClick={() => discard(item.clientMessageId)}>Delete</TextButton>
          </p>
        ) : (
          slow && <p className={s.meta}>{online ? "Sending…" : "Goes out when the connection is back."}</p>
        )}
      </div>
    </>
  );
}

export function PartialRow({ partial, tight, spaceId }: { partial: Partial_; tight: boolean; spaceId: string }) {
  const members = useLiveShallow((state) => state.spaces[spaceId]?.memberDetails ?? []);
  return (
    <>
      {tight ? <span className={s.side} /> : <LiveFace id={partial.agentId} />}
      <div>
        {!tight && <Author id={partial.agentId} at={new Date(partial.at).toISOString()} />}
        {partial.kind === "text" ? <Markdown text={partial.text} members={members} live /> : <CallCard partial={partial} />}
        <div className={s.foot}>
          <StopButton agentId={partial.agentId} runId={partial.runId} />
        </div>
      </div>
    </>
  );
}
