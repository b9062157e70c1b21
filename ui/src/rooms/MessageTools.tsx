import * as Ariakit from "@ariakit/react";
import { CircleHelp, CornerUpLeft, Ellipsis, Link2, MailOpen, MessageSquareReply, PencilLine, Pencil, Pin, PinOff, SmilePlus, Trash2 } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { api } from "../api/client";
import type { Message } from "../api/nouns";
import { markUnread } from "../live/held";
import { useLive } from "../live/store";
import { Button, IconButton } from "../parts/Button";
import { Dialog } from "../parts/Dialog";
import { usePanel } from "../parts/panel";
import p from "../parts/parts.module.css";
import { done, toast } from "../parts/toasts";
import { askAgain, editAndAsk } from "./askAgain";
import { TryAgain } from "./AnswerAgain";
import { deleteMessage, toggleReaction } from "./actions";
import s from "./rooms.module.css";

const Emoji = lazy(() => import("../parts/Emoji"));

export function MessageTools({ message, mine, onEdit }: { message: Message; mine: boolean; onEdit(): void }) {
  const [, setPanel] = usePanel();
  const [sure, setSure] = useState(false);
  const isCard = message.type === "tool";
  const isMember = useLive((state) => !!state.me && !!state.spaces[message.spaceId]?.members.includes(state.me.id));
  const isPinned = useLive((state) => state.rooms[message.spaceId]?.pins?.includes(message.id) ?? false);
  const answered = useLive((state) => mine && !isCard && Object.values(state.runs).some((run) => run.trigger.messageId === message.id && !!run.finishedAt));
  const runId = message.authorKind === "agent" && !isCard && isMember ? message.runId : null;
  return (
    <div className={s.tools} data-tools>
      <ReactionPicker onPick={(emoji) => void toggleReaction(message, emoji)} />
      {!isCard && (
        <IconButton label="Reply" data-do="reply" mini onClick={() => setPanel("thread", message.replyTo ?? message.id)}>
          <CornerUpLeft size={16} />
        </IconButton>
      )}
      {runId && <TryAgain runId={runId} icon />}
      <IconButton label="Why?" data-do="why" mini onClick={() => setPanel("why", message.id)}>
        <CircleHelp size={16} />
      </IconButton>
      <Ariakit.MenuProvider placement="bottom-end">
        <Ariakit.MenuButton
          render={
            <IconButton label="More" data-do="more" mini>
              <Ellipsis size={16} />
            </IconButton>
          }
        />
        <Ariakit.Menu className={p.menu} gutter={4} portal modal unmountOnHide>
          {runId && (
            <>
              <Ariakit.MenuItem className={p.item} onClick={() => void askAgain(runId)}>
                <MessageSquareReply size={15} aria-hidden /> Ask again
              </Ariakit.MenuItem>
              <Ariakit.MenuItem className={p.item} onClick={() => void editAndAsk(runId)}>
                <PencilLine size={15} aria-hidden /> Edit and ask again
              </Ariakit.MenuItem>
            </>
          )}
          {answered && (
            <Ariakit.MenuItem className={p.item} onClick={onEdit}>
              <PencilLine size={15} aria-hidden /> Edit and ask again
            </Ariakit.MenuItem>
          )}
          {isMember && (
            <>
              <Ariakit.MenuItem className={p.item} onClick={() => void (isPinned ? api.unpin(message.id) : api.pin(message.id)).catch(toast)}>
                {isPinned ? <PinOff size={15} aria-hidden /> : <Pin size={15} aria-hidden />} {isPinned ? "Take the pin away" : "Pin"}
              </Ariakit.MenuItem>
              <Ariakit.MenuItem className={p.item} onClick={() => void markUnread(message.spaceId, message.seq).catch(toast)}>
                <MailOpen size={15} aria-hidden /> Mark unread from here
              </Ariakit.MenuItem>
            </>
          )}
          <Ariakit.MenuItem
            className={p.item}
            onClick={() => {
              const link = `${location.origin}/#space=${message.spaceId}&message=${message.id}`;
              const copied = navigator.clipboard?.writeText(link) ?? Promise.reject(new Error());
              copied.then(() => done("Link copied"), () => done(`This browser does not let the page copy. The link: ${link}`));
            }}
          >
            <Link2 size={15} aria-hidden /> Copy link
          </Ariakit.MenuItem>
          {mine && !isCard && (
            <>
              <Ariakit.MenuItem className={p.item} onClick={onEdit}>
                <Pencil size={15} aria-hidden /> Edit
              </Ariakit.MenuItem>
              <Ariakit.MenuItem className={p.item} data-danger onClick={() => setSure(true)}>
                <Trash2 size={15} aria-hidden /> Delete…
              </Ariakit.MenuItem>
            </>
          )}
        </Ariakit.Menu>
      </Ariakit.MenuProvider>
      <Dialog title="Delete this message?" open={sure} onClose={() => setSure(false)}>
        <p>Its place stays, its text is gone for everybody. Agents that have read it still know it.</p>
        <div className={`${p.actions} ${p.end}`}>
          <Button onClick={() => setSure(false)}>Keep it</Button>
          <Button
            look="danger"
            onClick={() => {
              setSure(false);
              void deleteMessage(message);
            }}
          >
            Delete
          </Button>
        </div>
      </Dialog>
    </div>
  );
}

export function ReactionPicker({ onPick, label = "React", children, mini = true }: { onPick(emoji: string): void; label?: string; children?: React.ReactNode; mini?: boolean }) {
  const popover = Ariakit.usePopoverStore({ placement: "top-end" });
  const isOpen = Ariakit.useStoreState(popover, "open");
  return (
    <>
      <Ariakit.PopoverDisclosure
        store={popover}
        render={
          <IconButton label={label} data-do="react" mini={mini}>
            {children ?? <SmilePlus size={16} />}
          </IconButton>
        }
      />
      <Ariakit.Popover store={popover} gutter={6} portal unmountOnHide aria-label="Pick an emoji">
        {isOpen && (
          <Suspense fallback={<div className={p.emoji} />}>
            <Emoji
              onPick={(emoji) => {
                onPick(emoji);
                popover.hide();
              }}
            />
          </Suspense>
        )}
      </Ariakit.Popover>
    </>
  );
}
