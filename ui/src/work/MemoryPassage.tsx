// One passage: what it says, where it was learned, and how it is corrected or deleted.
import { useQueryClient } from "@tanstack/react-query";
import { Pencil, Trash2 } from "lucide-react";
import { useState } from "react";
import { Link } from "wouter";
import type { Agent, Passage } from "../api/nouns";
import { Ago } from "../parts/Ago";
import { IconButton, TextButton } from "../parts/Button";
import { Dialog } from "../parts/Dialog";
import { Form } from "../parts/Form";
import p from "../parts/parts.module.css";
import { done } from "../parts/toasts";
import { Who } from "../rooms/Who";
import { AskDelete, Marks, PlaceField, RoomLink, short } from "./MemoryParts";
import m from "./memory.module.css";
import { recall } from "./recall";

const LONG = 600; // characters that are shown before somebody asks for the rest
const MOST = 20_000;

type Props = { passage: Passage; mayChange: boolean; section: string; tag: string; onTag(tag: string): void };

export function PassageItem({ passage, mayChange, section, tag, onTag }: Props) {
  const [open, setOpen] = useState<"edit" | "delete" | null>(null);
  const queries = useQueryClient();
  const close = (): void => setOpen(null);
  const save = async (body: object): Promise<void> => {
    await recall.updatePassage(passage.id, body);
    close();
    await queries.invalidateQueries({ queryKey: ["memory"] });
    done("Saved");
  };
  return (
    <li className={m.block}>
      <div className={m.beside}>
        <Words text={passage.content} />
        {mayChange && (
          <span className={m.tools}>
            <IconButton label={`Edit “${short(passage.content)}”`} mini onClick={() => setOpen("edit")}>
              <Pencil size={16} />
            </IconButton>
            <IconButton label={`Delete “${short(passage.content)}”`} mini onClick={() => setOpen("delete")}>
              <Trash2 size={16} />
            </IconButton>
          </span>
        )}
      </div>
      <div className={m.tags}>
        {passage.tags.map((each) => (
          <button key={each} type="button" className={m.tag} aria-pressed={each === tag} title="Show only passages with this tag" onClick={() => onTag(each)}>
            <bdi>{each}</bdi>
          </button>
        ))}
        <Marks spaceId={passage.agentId ? passage.spaceId : null} outside={passage.outside} />
      </div>
      <Origin passage={passage} />
      <Dialog title="Edit passage" open={open === "edit"} onClose={close}>
        <PassageForm verb="Save" before={passage} onSave={save} onClose={close} />
      </Dialog>
      <AskDelete
        what="passage"
        text={passage.content}
        note={passage.supersedes ? "The passage that it replaced is found again." : undefined}
        open={open === "delete"}
        section={section}
        onDelete={() => recall.deletePassage(passage.id)}
        onClose={close}
      />
    </li>
  );
}

function Words({ text }: { text: string }) {
  const [whole, setWhole] = useState(false);
  const isLong = text.length > LONG;
  return (
    <div className={m.words}>
      <p dir="auto">{isLong && !whole ? `${text.slice(0, LONG).trimEnd()}…` : text}</p>
      {isLong && (
        <TextButton aria-expanded={whole} onClick={() => setWhole(!whole)}>
          {whole ? "Show less" : "Show all"}
        </TextButton>
      )}
    </div>
  );
}

/** Who wrote it, where and when; with links to each. */
function Origin({ passage }: { passage: Passage }) {
  const { learned } = passage;
  const here = !passage.agentId && !learned?.messageId; // the room that shows it, and no message to lead to
  return (
    <small className={m.origin}>
      {learned?.runId ? "Learned " : "Written "}
      <Ago at={passage.createdAt} />
      {learned?.spaceId && !here && (
        <>
          {" "}
          in <RoomLink id={learned.spaceId} messageId={learned.messageId} />
        </>
      )}
      {learned?.personId && (
        <>
          {learned.runId ? ", for " : " by "}
          <Link href="/people">
            <Who id={learned.personId} />
          </Link>
        </>
      )}
      {learned?.runId && (
        <>
          , in <Link href={`/runs/${learned.runId}`}>this run</Link>
        </>
      )}
      {passage.updatedAt && (
        <>
          . Corrected <Ago at={passage.updatedAt} />
          {passage.updatedBy && (
            <>
              {" "}
              by <Who id={passage.updatedBy} />
            </>
          )}
        </>
      )}
      {passage.expiresAt && (
        <>
          . Forgotten <Ago at={passage.expiresAt} comes />
        </>
      )}
    </small>
  );
}

type FormProps = { verb: string; before?: Passage; agent?: Agent; onSave(body: object): Promise<void>; onClose(): void };

export function PassageForm({ verb, before, agent, onSave, onClose }: FormProps) {
  const [content, setContent] = useState(before?.content ?? "");
  const [tags, setTags] = useState(before?.tags.join(", ") ?? "");
  const [place, setPlace] = useState<string | undefined>(undefined);
  const split = [...new Set(tags.split(",").map((tag) => tag.trim()))].filter(Boolean);
  // Whoever writes new words makes them theirs; words that stay the same keep the mark that they have.
  const words = content === before?.content ? {} : { content };
  const marked = before && tags === before.tags.join(", ") ? {} : { tags: split };
  const body = { ...words, ...marked, ...(place ? { spaceId: place } : {}) };
  return (
    <Form verb={verb} onSave={() => onSave(body)} onCancel={onClose} disabled={!content.trim() || !Object.keys(body).length}>
      <label className={p.field}>
        What to remember
        <textarea required rows={4} maxLength={MOST} dir="auto" value={content} onChange={(event) => setContent(event.target.value)} />
        {before && before.outside.length > 0 && <span className={p.hint}>New words count as yours, no longer as text from outside.</span>}
      </label>
      <label className={p.field}>
        Tags
        <input value={tags} placeholder="kitchen, deliveries" onChange={(event) => setTags(event.target.value)} />
        <span className={p.hint}>With commas between them. They are searched, too.</span>
      </label>
      {agent && <PlaceField label="Known in" agent={agent} place={place} onChange={setPlace} />}
    </Form>
  );
}
