// The blocks of an agent: texts that are always in its prompt. They are read, written, shared and put back here.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { History, Settings2, Trash2 } from "lucide-react";
import { useId, useState } from "react";
import { Link } from "wouter";
import { api } from "../api/client";
import type { Agent, Block } from "../api/nouns";
import { Ago } from "../parts/Ago";
import { Button, IconButton } from "../parts/Button";
import { Dialog } from "../parts/Dialog";
import { Failed, Notice, Skeleton } from "../parts/Notice";
import p from "../parts/parts.module.css";
import { done, toast } from "../parts/toasts";
import { Who } from "../rooms/Who";
import { MemoryHistory } from "./MemoryHistory";
import { MemoryOptions } from "./MemoryOptions";
import { Section } from "./MemoryParts";
import m from "./memory.module.css";
import s from "./work.module.css";

/** Where a block is: whose it is, and the room that it is kept for, if that is only one. */
export type Where = { agentId: string; label: string; place: string | undefined };

export const memoryKey = (agentId: string, place?: string): unknown[] => ["memory", agentId, "blocks", place ?? ""];

export function MemoryBlocks({ agent, manages, place }: { agent: Agent; manages: boolean; place: string | undefined }) {
  const blocks = useQuery({ queryKey: memoryKey(agent.id, place), queryFn: () => api.blocks(agent.id, place) });
  if (blocks.isPending) return <Skeleton rows={3} />;
  if (blocks.error) return <Failed error={blocks.error} onRetry={() => void blocks.refetch()} />;
  return (
    <Section
      id="memory-blocks"
      title="Blocks"
      hint={place ? "These stand in its prompt in this room alone, in place of others of the same name." : "These always stand in its prompt. It changes them itself, too."}
    >
      {blocks.data.items.map((block) => (
        <BlockCard key={`${block.sharedBy ?? ""}/${block.label}`} agent={agent} block={block} manages={manages} place={place} />
      ))}
      {!blocks.data.items.length && <p className={m.none}>No blocks yet.</p>}
      {manages && <NewBlock agent={agent} place={place} />}
    </Section>
  );
}

function BlockCard({ agent, block, manages, place }: { agent: Agent; block: Block; manages: boolean; place: string | undefined }) {
  const heading = useId();
  const [draft, setDraft] = useState<{ text: string; version: number } | null>(null);
  const [open, setOpen] = useState<"history" | "options" | null>(null);
  const queries = useQueryClient();
  const own = !block.sharedBy;
  const may = manages && own;
  const text = draft?.text ?? block.content;
  const long = [...text].length;
  const where: Where = { agentId: agent.id, label: block.label, place };
  const refresh = (): Promise<void> => queries.invalidateQueries({ queryKey: ["memory"] });
  const act = async (work: () => Promise<unknown>, said: string, version: number): Promise<void> => {
    try {
      await work();
      await refresh();
      done(said, () => void api.revertBlock(agent.id, block.label, version, place).then(refresh, toast));
    } catch (error) {
      toast(error);
    }
  };
  const write = (): Promise<void> => api.putBlock(agent.id, block.label, { content: text }, place).then(() => setDraft(null));
  const save = (): Promise<void> => act(write, "Saved", block.version);
  const remove = (): Promise<void> => act(() => api.deleteBlock(agent.id, block.label, place), "Deleted", block.version);
  return (
    <article className={m.block} aria-labelledby={heading}>
      <header>
        <h3 id={heading}>
          <bdi>{block.label}</bdi>
        </h3>
        <Tags block={block} agentId={agent.id} />
        <span className={m.tools}>
          {own && (
            <IconButton label={`What ${block.label} was`} mini aria-expanded={open === "history"} onClick={() => setOpen(open === "history" ? null : "history")}>
              <History size={16} />
            </IconButton>
          )}
          {may && (
            <IconButton label={`Limit and sharing of ${block.label}`} mini onClick={() => setOpen("options")}>
              <Settings2 size={16} />
            </IconButton>
          )}
          {may && (
            <IconButton label={`Delete ${block.label}`} mini onClick={() => void remove()}>
              <Trash2 size={16} />
            </IconButton>
          )}
        </span>
      </header>
      {block.description && <p className={m.about}>{block.description}</p>}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <textarea className={p.input} aria-labelledby={heading} value={text} readOnly={!may} onChange={(event) => setDraft({ text: event.target.value, version: draft?.version ?? block.version })} dir="auto" rows={3} />
        <Length used={long} limit={block.limit} label={block.label} />
        {draft && draft.version !== block.version && <Notice tone="warn">It was changed since you began. Saving writes over that; its history keeps both.</Notice>}
        {may && text !== block.content && (
          <div className={p.actions}>
            <Button type="submit" look="primary" disabled={long > block.limit}>
              Save
            </Button>
            <Button look="quiet" onClick={() => setDraft(null)}>
              Discard
            </Button>
          </div>
        )}
      </form>
      <small className={m.changed}>
        Version {block.version}, <Ago at={block.updatedAt} />
      </small>
      {open === "history" && <MemoryHistory where={where} current={block} manages={may} onReverted={refresh} />}
      <Dialog title={`Limit and sharing of ${block.label}`} open={open === "options"} onClose={() => setOpen(null)}>
        <MemoryOptions where={where} block={block} onSaved={() => (setOpen(null), void refresh())} />
      </Dialog>
    </article>
  );
}

function Tags({ block, agentId }: { block: Block; agentId: string }) {
  const [readers, writers] = [block.shared?.readers, block.shared?.writers].map((ids) => (ids ?? []).filter((id) => id !== agentId)) as [string[], string[]];
  return (
    <>
      {block.sharedBy && (
        <span className={s.chip} data-tone="live">
          shared by{" "}
          <Link href={`/agents/${block.sharedBy}?tab=Memory`}>
            <Who id={block.sharedBy} />
          </Link>
          , to {block.mayWrite ? "write" : "read"}
        </span>
      )}
      {readers.length > 0 && (
        <span className={s.chip} data-tone="live">
          <Names ids={readers} /> {readers.length > 1 ? "read" : "reads"} it
        </span>
      )}
      {writers.length > 0 && (
        <span className={s.chip} data-tone="live">
          <Names ids={writers} /> {writers.length > 1 ? "write" : "writes"} it
        </span>
      )}
      {block.outside.length > 0 && (
        <span className={s.chip} data-tone="warn" title={block.outside.join(", ")}>
          written after reading text from outside
        </span>
      )}
    </>
  );
}

function Names({ ids }: { ids: string[] }) {
  return ids.map((id, place) => (
    <span key={id}>
      {place > 0 && ", "}
      <Who id={id} />
    </span>
  ));
}

/** How much of the room that it has a block takes. */
function Length({ used, limit, label }: { used: number; limit: number; label: string }) {
  const over = used > limit;
  const said = `${used.toLocaleString("en")} / ${limit.toLocaleString("en")}`;
  return (
    <div className={m.length} data-over={over || undefined}>
      <div className={m.bar} role="meter" aria-label={`Characters of ${label}`} aria-valuemin={0} aria-valuemax={limit} aria-valuenow={Math.min(used, limit)} aria-valuetext={`${said} characters`}>
        <div style={{ inlineSize: `${Math.min(100, (used / limit) * 100)}%` }} />
      </div>
      <span role={over ? "alert" : undefined}>
        {said}
        {over && ": too long"}
      </span>
    </div>
  );
}

function NewBlock({ agent, place }: { agent: Agent; place: string | undefined }) {
  const [label, setLabel] = useState("");
  const queries = useQueryClient();
  const add = async (): Promise<void> => {
    try {
      await api.putBlock(agent.id, label.trim(), { content: "" }, place);
      setLabel("");
      await queries.invalidateQueries({ queryKey: ["memory"] });
    } catch (error) {
      toast(error);
    }
  };
  return (
    <form
      className={p.actions}
      onSubmit={(event) => {
        event.preventDefault();
        void add();
      }}
    >
      <input className={p.input} style={{ inlineSize: 200 }} aria-label="Name of a new block" placeholder="new block" value={label} onChange={(event) => setLabel(event.target.value)} />
      <Button type="submit" disabled={!label.trim()}>
        Add block
      </Button>
    </form>
  );
}
