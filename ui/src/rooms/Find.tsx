// Searching a room without leaving it: hits come while somebody types, and lead to their message beside them.
import { useQuery } from "@tanstack/react-query";
import { useDeferredValue, useEffect, useRef, useState } from "react";
import { Link, useLocation, useSearchParams } from "wouter";
import { api } from "../api/client";
import { Ago } from "../parts/Ago";
import { Empty, Failed } from "../parts/Notice";
import p from "../parts/parts.module.css";
import s from "./rooms.module.css";
import { Snippet } from "./Snippet";
import { useSettled } from "./useSettled";
import { Who } from "./Who";

export function Find({ spaceId }: { spaceId: string }) {
  const [words, setWords] = useState("");
  const box = useRef<HTMLInputElement>(null);
  const [, go] = useLocation();
  const [search] = useSearchParams();
  const wanted = useDeferredValue(useSettled(words.trim(), 200));
  const found = useQuery({
    queryKey: ["search", "room", spaceId, wanted],
    queryFn: () => api.search({ q: wanted, spaceId, limit: 30 }),
    enabled: wanted.length > 1,
    placeholderData: (before) => before,
  });
  useEffect(() => box.current?.focus(), []);
  const items = wanted.length > 1 ? (found.data?.items ?? []) : [];
  return (
    <div className={s.body}>
      <form
        className={s.section}
        role="search"
        onSubmit={(event) => {
          event.preventDefault();
          if (items[0]) go(to(spaceId, items[0].id));
        }}
      >
        <input ref={box} className={p.input} type="search" aria-label="Words in this room" placeholder="Words, or a “phrase”" value={words} onChange={(event) => setWords(event.target.value)} />
      </form>
      <div className={s.found} role="status">
        {found.error && <Failed error={found.error} onRetry={() => void found.refetch()} />}
        {wanted.length > 1 && found.data && !found.isFetching && !items.length && (
          <Empty title="Nothing found here">
            <p>No message of this room holds all of these words.</p>
          </Empty>
        )}
        {items.map((message) => (
          <Link key={message.id} href={to(spaceId, message.id)} className={s.result} aria-current={search.get("message") === message.id || undefined}>
            <span className={s.by}>
              <b><Who id={message.authorId} /></b>
              <Ago at={message.createdAt} />
            </span>
            <Snippet message={message} />
          </Link>
        ))}
        {items.length > 0 && <Link href={`/search?q=${encodeURIComponent(wanted)}`} className={s.result}>Search all rooms for “{wanted}”</Link>}
      </div>
    </div>
  );
}

const to = (spaceId: string, messageId: string): string => `/rooms/${spaceId}?panel=search&message=${messageId}`;
