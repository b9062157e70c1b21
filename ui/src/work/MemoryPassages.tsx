// Passages: texts that are stored and searched. An agent has its own, and a room has some for all its agents.
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { Plus, X } from "lucide-react";
import { useState } from "react";
import type { Agent, Passage } from "../api/nouns";
import { Button } from "../parts/Button";
import { Dialog } from "../parts/Dialog";
import { Failed, Skeleton } from "../parts/Notice";
import p from "../parts/parts.module.css";
import { done } from "../parts/toasts";
import { useSettled } from "../rooms/useSettled";
import { PassageForm, PassageItem } from "./MemoryPassage";
import { Section } from "./MemoryParts";
import m from "./memory.module.css";
import { recall } from "./recall";
import s from "./work.module.css";

/** Whose passages: an agent's own, or those of a room. */
export type Owner = { of: "agents" | "spaces"; id: string; agent?: Agent };

export function MemoryPassages({ agent, manages }: { agent: Agent; manages: boolean }) {
  const owner: Owner = { of: "agents", id: agent.id, agent };
  return (
    <Section id="memory-passages" title="Passages" hint="What it has stored. It searches them when it needs them." action={manages && <AddPassage owner={owner} />}>
      <PassageList owner={owner} mayChange={manages} section="memory-passages" limit={20} empty="No passages yet. It stores them itself if its tools include memory, or you add one." />
    </Section>
  );
}

type ListProps = { owner: Owner; mayChange: boolean; section: string; limit: number; empty: string };

export function PassageList({ owner, mayChange, section, limit, empty }: ListProps) {
  const [words, setWords] = useState("");
  const [tag, setTag] = useState("");
  const q = useSettled(words.trim(), 200);
  const found = useInfiniteQuery({
    queryKey: ["memory", owner.id, "passages", q, tag],
    queryFn: ({ pageParam }) => recall.passages(owner.of, owner.id, { q, tags: tag, limit, cursor: pageParam }),
    initialPageParam: "",
    getNextPageParam: (page) => page.next,
    placeholderData: (before) => before,
  });
  const items = found.data?.pages.flatMap((page) => page.items) ?? [];
  const looks = q !== "" || tag !== "";
  const none = found.data && !items.length;
  if (none && !looks && !words) return <p className={m.none}>{empty}</p>;
  return (
    <>
      <input className={p.input} type="search" maxLength={1000} aria-label="Search passages" placeholder="Search: words, or a “phrase”" value={words} onChange={(event) => setWords(event.target.value)} />
      {tag && (
        <p className={m.chosen}>
          Only with the tag <bdi className={s.chip}>{tag}</bdi>
          <Button look="quiet" onClick={() => setTag("")}>
            <X size={14} aria-hidden /> Show all
          </Button>
        </p>
      )}
      <p role="status" className={m.count}>
        {looks && items.length > 0 && (found.hasNextPage ? `${items.length} found so far` : `${items.length} found`)}
        {looks && none && !found.isFetching && "No passage holds these words. Try fewer words, or a part of one."}
      </p>
      {found.data?.pages[0]?.note && <p className={p.hint}>{found.data.pages[0].note}</p>}
      {found.isPending && <Skeleton rows={3} />}
      {found.error && <Failed error={found.error} onRetry={() => void found.refetch()} />}
      <ul className={m.passages} aria-label={looks ? "Passages, the best matches first" : "Passages, the newest first"}>
        {items.map((passage) => (
          <PassageItem key={passage.id} passage={passage} mayChange={mayChange} section={section} tag={tag} onTag={(chosen) => setTag(chosen === tag ? "" : chosen)} />
        ))}
      </ul>
      {found.hasNextPage && (
        <div className={p.actions}>
          <Button busy={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
            Show more
          </Button>
        </div>
      )}
    </>
  );
}

/** In a room the button says more: other things are added there, too. */
export function AddPassage({ owner }: { owner: Owner }) {
  const [open, setOpen] = useState(false);
  const queries = useQueryClient();
  const add = async (body: object): Promise<void> => {
    const known = queries.getQueriesData<{ pages: { items: Passage[] }[] }>({ queryKey: ["memory", owner.id, "passages"] });
    const made = await recall.addPassage(owner.of, owner.id, body);
    const before = known.some(([, found]) => found?.pages.some((page) => page.items.some((each) => each.id === made.id)));
    setOpen(false);
    await queries.invalidateQueries({ queryKey: ["memory"] });
    done(before ? "These words are there already" : "Added");
  };
  return (
    <>
      <Button aria-label={owner.agent && "Add a passage"} onClick={() => setOpen(true)}>
        <Plus size={15} aria-hidden /> {owner.agent ? "Add" : "New passage"}
      </Button>
      <Dialog title="Add a passage" open={open} onClose={() => setOpen(false)}>
        <PassageForm verb="Add passage" agent={owner.agent} onSave={add} onClose={() => setOpen(false)} />
      </Dialog>
    </>
  );
}
