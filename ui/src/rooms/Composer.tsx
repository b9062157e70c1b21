import * as Ariakit from "@ariakit/react";
import { ArrowUp, Paperclip, Smile, SquareSlash, X } from "lucide-react";
import { useEffect, useMemo, useRef, useState } from "react";
import { flushSync } from "react-dom";
import { api } from "../api/client";
import type { Command, Space } from "../api/nouns";
import { draftOf, keepDraft } from "../live/drafts";
import { store, useLive } from "../live/store";
import { IconButton } from "../parts/Button";
import { Face } from "../parts/Face";
import p from "../parts/parts.module.css";
import { toast } from "../parts/toasts";
import { noCommand, wakesHint } from "../words/en";
import { ReactionPicker } from "./MessageTools";
import { nameOf } from "./names";
import s from "./rooms.module.css";
import { commandIn, unknownCommand, useCommands } from "./useCommands";
import { addFiles, draftKey, removeFile, submit as submitPlace, useUploads, type Place } from "./uploads";

type Props = { space: Space; title: string; replyTo?: string; onEditLast?(): void };

const MENTION = /(^|\s)@([\p{L}\p{N}_-]*)$/u;
const COMMAND = /(^)\/([\p{L}\p{N}_-]*)$/u;

/** A name or a command that somebody has begun to write. */
type Asked = { sign: "@" | "/"; word: string };

function askedIn(before: string): Asked | null {
  for (const [sign, pattern] of [["/", COMMAND], ["@", MENTION]] as const) {
    const hit = pattern.exec(before);
    if (hit) return { sign, word: (hit[2] ?? "").toLowerCase() };
  }
  return null;
}

export function Composer({ space, title, replyTo, onEditLast }: Props) {
  const place: Place = { spaceId: space.id, replyTo };
  const key = draftKey(place);
  const [text, setText] = useState(() => draftOf(key));
  const [asked, setAskedState] = useState<Asked | null>(null);
  const askedNow = useRef<Asked | null>(null);
  const setAsked = (next: Asked | null): void => {
    askedNow.current = next;
    setAskedState(next);
  };
  const box = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  const uploads = useUploads(place);
  const combobox = Ariakit.useComboboxStore({ placement: "top-start", resetValueOnHide: false });
  const commands = useCommands(space.id, text.startsWith("/"));
  const candidates = useCandidates(space, asked, commands);
  const command = commandIn(text, commands);
  const woken = useHint(space, command ? "" : text, replyTo);
  const hint = command ? command.description : woken;

  useEffect(() => keepDraft(key, text), [key, text]);
  useEffect(() => combobox.setOpen(asked !== null && candidates.length > 0), [asked, candidates.length]);
  // What was written here is out, perhaps after its files; or something that was not sent is back.
  useEffect(() => {
    const sent = (event: Event): void => {
      if ((event as CustomEvent<string>).detail !== key) return;
      setText("");
      setAsked(null);
      requestAnimationFrame(() => window.dispatchEvent(new Event("bullpen:end")));
    };
    const back = (event: Event): void => {
      if ((event as CustomEvent<string>).detail !== key) return;
      setText(draftOf(key));
      box.current?.focus();
    };
    window.addEventListener("bullpen:sent", sent);
    window.addEventListener("bullpen:draft", back);
    return () => {
      window.removeEventListener("bullpen:sent", sent);
      window.removeEventListener("bullpen:draft", back);
    };
  }, [key]);
  useEffect(() => {
    if (matchMedia("(hover: hover)").matches) box.current?.focus({ preventScroll: true });
  }, [key]);
  // Dropped on the room: for the room, even if replies are open beside it.
  useEffect(() => {
    if (replyTo) return;
    const take = (event: Event): void => addFiles(place, (event as CustomEvent<File[]>).detail);
    window.addEventListener("bullpen:files", take);
    return () => window.removeEventListener("bullpen:files", take);
  }, [key]);

  useTellTyping(space, command || text.startsWith("/") ? "" : text);
  // Somebody's words are to be asked again, in words of one's own.
  useEffect(() => {
    if (replyTo) return;
    const write = (event: Event): void => {
      const wanted = (event as CustomEvent<{ spaceId: string; text: string }>).detail;
      if (wanted.spaceId !== space.id) return;
      setText(wanted.text);
      box.current?.focus();
    };
    window.addEventListener("bullpen:write", write);
    return () => window.removeEventListener("bullpen:write", write);
  }, [space.id, replyTo]);
  const [unknown, setUnknown] = useState("");
  useEffect(() => setUnknown(""), [text]);

  const submit = (): void => {
    const word = unknownCommand(text, commands);
    // Once it is said that there is no such command, the same Enter posts it.
    if (word && !unknown) return setUnknown(word);
    keepDraft(key, text);
    submitPlace(place);
  };

  const insert = (words: string, replacing?: RegExp): void => {
    const at = box.current?.selectionStart ?? text.length;
    const before = replacing ? text.slice(0, at).replace(replacing, (_all, space_: string) => `${space_}${words}`) : text.slice(0, at) + words;
    // At once: a key that is pressed before the next frame belongs behind these words.
    flushSync(() => {
      setText(before + text.slice(at));
      setAsked(null);
    });
    box.current?.focus();
    box.current?.setSelectionRange(before.length, before.length);
    requestAnimationFrame(() => box.current?.focus()); // a list that closes may have given it to its button
  };

  // Before the list of names sees the key: it would choose, and then the same Enter would send.
  const onKeyDown = (event: React.KeyboardEvent<HTMLElement>): void => {
    if (event.target !== box.current) return;
    // A name that is written out needs no choosing: Enter sends.
    const same = candidates.filter((each) => each.name.toLowerCase() === asked?.word);
    const whole = same.length > 0 && (asked?.sign === "/" || candidates.length === 1);
    const picking = asked !== null && candidates.length > 0 && !(whole && event.key === "Enter");
    if (picking && (event.key === "Enter" || event.key === "Tab")) {
      event.preventDefault();
      event.stopPropagation();
      const id = combobox.getState().activeId;
      const chosen = candidates.find((each) => `mention-${each.id}` === id) ?? candidates[0];
      if (chosen) choose(chosen);
      return;
    }
    if (picking && event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      setAsked(null);
      return;
    }
    if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
      event.preventDefault();
      event.stopPropagation();
      submit();
    }
    if (event.key === "ArrowUp" && !text && onEditLast) {
      event.preventDefault();
      onEditLast();
    }
  };

  // By a key, a click or both at once: the first counts.
  const choose = ({ id, kind, name }: Candidate): void => {
    if (askedNow.current === null) return;
    if (kind === "command") return insert(`/${name} `, COMMAND);
    if (!space.members.includes(id)) void api.addMember(space.id, id).catch(toast);
    insert(`@${/^[\p{L}\p{N}_-]+$/u.test(name) ? name : id} `, MENTION);
  };

  return (
    <form
      className={s.compose}
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
      onKeyDownCapture={onKeyDown}
    >
      {uploads.list.length > 0 && (
        <div className={s.drops}>
          {uploads.list.map((each) => (
            <div key={each.key} className={s.drop} data-bad={each.problem ? true : undefined}>
              <bdi>{each.name}</bdi>
              {each.problem ? <span role="alert">{each.problem}</span> : !each.file && <progress value={each.share} aria-label={`Uploading ${each.name}`} />}
              <IconButton label={`Remove ${each.name}`} mini onClick={() => removeFile(place, each.key)}>
                <X size={14} />
              </IconButton>
            </div>
          ))}
        </div>
      )}
      <Ariakit.Combobox
        store={combobox}
        autoSelect
        showOnClick={false}
        showOnChange={false}
        showOnKeyPress={false}
        setValueOnChange={false}
        value={text}
        className={s.textarea}
        render={<textarea ref={box} rows={1} dir="auto" />}
        aria-label={replyTo ? "Reply" : `Message ${title}`}
        placeholder={replyTo ? "Reply" : `Message ${space.kind === "dm" ? title : `#${title}`}`}
        onChange={(event) => {
          const target = event.target as unknown as HTMLTextAreaElement;
          setText(target.value);
          setAsked(askedIn(target.value.slice(0, target.selectionStart)));
        }}
        onPaste={(event) => {
          if (event.clipboardData.files.length) {
            event.preventDefault();
            addFiles(place, [...event.clipboardData.files]);
          }
        }}
      />
      <Ariakit.ComboboxPopover store={combobox} className={p.menu} gutter={8} unmountOnHide portal sameWidth={false} aria-label={asked?.sign === "/" ? "Commands" : "Mention"} hideOnInteractOutside={false} onClose={() => setAsked(null)}>
        {candidates.map((each) => (
          <Ariakit.ComboboxItem key={each.id} id={`mention-${each.id}`} className={p.item} focusOnHover setValueOnClick={false} onClick={() => choose(each)}>
            {each.kind === "command" ? <SquareSlash size={16} aria-hidden /> : <Face id={each.id} name={each.name} kind={each.kind} size="small" />}
            <bdi>{each.kind === "command" ? `/${each.name}` : each.name}</bdi>
            <small>{each.note}</small>
          </Ariakit.ComboboxItem>
        ))}
      </Ariakit.ComboboxPopover>
      <div className={s.bar}>
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          onChange={(event) => {
            addFiles(place, [...(event.target.files ?? [])]);
            event.target.value = "";
          }}
        />
        <IconButton label="Attach files" onClick={() => picker.current?.click()}>
          <Paperclip size={18} />
        </IconButton>
        <ReactionPicker label="Emoji" mini={false} onPick={(emoji) => insert(emoji)}>
          <Smile size={18} />
        </ReactionPicker>
        <span className={s.hint} aria-live="polite">{uploads.waits ? "Goes out when the files are there" : unknown ? noCommand(unknown) : (hint ?? "Enter sends · Shift Enter new line")}</span>
        <button className={s.send} type="submit" aria-label="Send" disabled={!text.trim() && !uploads.list.length}>
          <ArrowUp size={18} />
        </button>
      </div>
    </form>
  );
}

type Candidate = { id: string; name: string; kind: string; note: string };

function useCandidates(space: Space, asked: Asked | null, commands: readonly Command[]): Candidate[] {
  const everybody = useLive((state) => state.members);
  const me = useLive((state) => state.me?.id);
  return useMemo(() => {
    if (asked === null) return [];
    if (asked.sign === "/")
      return commands
        .filter((each) => each.name.startsWith(asked.word))
        .map((each) => ({ id: `command-${each.name}`, name: each.name, kind: "command", note: [each.parameters, each.description].filter(Boolean).join(" · ") }));
    return Object.values(everybody)
      .filter((each) => each.id !== me && (each.name.toLowerCase().startsWith(asked.word) || each.id.toLowerCase().startsWith(asked.word)))
      .map((each) => ({ ...each, member: space.members.includes(each.id) }))
      .filter((each) => each.member || space.kind !== "dm")
      .sort((a, b) => Number(b.member) - Number(a.member) || a.name.localeCompare(b.name))
      .slice(0, 8)
      .map(({ id, name, kind, member }) => ({ id, name, kind, note: !member ? "not in this room · Add" : kind === "agent" ? "agent" : "" }));
  }, [asked, everybody, me, space, commands]);
}

/** Who would be woken by what stands there, asked once somebody pauses. */
function useHint(space: Space, text: string, replyTo?: string): string | null {
  const [hint, setHint] = useState<string | null>(null);
  const hasAgents = space.memberDetails.some((member) => member.kind === "agent");
  const pauses = useLive((state) => `${state.allPaused} ${Object.keys(state.paused).join()}`);
  useEffect(() => {
    // What was said of another text is not said of this one, even if it comes late.
    setHint(null);
    if (!text.trim() || !hasAgents) return;
    let isOld = false;
    const timer = setTimeout(() => {
      void api
        .preview(space.id, { text: text.slice(0, 8000), replyTo })
        .then(({ wakes }) => {
          if (isOld) return;
          const { members, paused, allPaused } = store.getState();
          const rests = (id: string): boolean => allPaused || !!paused[id];
          const called = (ids: string[]): string[] => ids.map((id) => nameOf(members, id));
          setHint(wakesHint(called(wakes.filter((id) => !rests(id))), called(wakes.filter(rests))));
        })
        .catch(() => undefined);
    }, 500);
    return () => {
      isOld = true;
      clearTimeout(timer);
    };
  }, [text, space.id, replyTo, hasAgents, pauses]);
  return hint;
}

const TELLS_MS = 4_000;

/** Tell the others that somebody types here, now and then as long as they do. */
function useTellTyping(space: Space, text: string): void {
  const told = useRef(0);
  const first = useRef(text); // a draft that was there already is nobody typing
  const isShared = space.memberDetails.filter((member) => member.kind === "person").length > 1;
  useEffect(() => {
    if (!isShared || !text.trim() || text === first.current || Date.now() - told.current < TELLS_MS) return;
    told.current = Date.now();
    void api.typing(space.id).catch(() => undefined);
  }, [text, isShared, space.id]);
}
