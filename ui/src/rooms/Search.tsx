import { useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { Link } from "wouter";
import { api } from "../api/client";
import { useLive } from "../live/store";
import { Ago } from "../parts/Ago";
import { Button } from "../parts/Button";
import { RoomFilter, useFilters } from "../parts/filters";
import { Empty, Failed, Skeleton } from "../parts/Notice";
import { PageHead } from "../work/Head";
import { titleOf } from "./names";
import s from "./rooms.module.css";
import { Snippet } from "./Snippet";
import { useSettled } from "./useSettled";
import { Who } from "./Who";

const NAMES = ["q", "spaceId", "authorId", "type", "after", "before"] as const;

/** A day begins where whoever asks is; the office would take it for one in UTC. */
function dayBegins(day: string): string {
  return /^\d{4}-\d\d-\d\d$/.test(day) ? new Date(`${day}T00:00`).toISOString() : day;
}

export default function Search() {
  const filters = useFilters();
  const { set } = filters;
  const state = useLive((all) => all);
  const asked = Object.fromEntries(NAMES.map((name) => [name, filters.asked(name)])) as Record<(typeof NAMES)[number], string>;
  const [words, setWords] = useState(asked.q);
  const found = useInfiniteQuery({
    queryKey: ["search", asked],
    queryFn: ({ pageParam }) => api.search({ ...asked, after: dayBegins(asked.after), before: dayBegins(asked.before), limit: 30, cursor: pageParam }),
    initialPageParam: "",
    getNextPageParam: (page) => page.next,
    enabled: asked.q.trim().length > 0,
  });
  useEffect(() => {
    document.title = "Search · Bullpen";
  }, []);
  const settled = useSettled(words, 300);
  useEffect(() => {
    if (settled.trim() !== asked.q && settled.trim().length !== 1) set("q", settled.trim());
  }, [settled]);
  const items = found.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <main className={s.room} id="main">
      <PageHead title="Search" />
      <form
        className={s.filters}
        role="search"
        onSubmit={(event) => {
          event.preventDefault();
          set("q", words.trim());
        }}
      >
        <input type="search" aria-label="Words" placeholder="Words, or a “phrase”" value={words} autoFocus onChange={(event) => setWords(event.target.value)} />
        <RoomFilter value={asked.spaceId} onChange={(id) => set("spaceId", id)} />
        <select aria-label="From" value={asked.authorId} onChange={(event) => set("authorId", event.target.value)}>
          <option value="">Anybody</option>
          {Object.values(state.members).map((member) => (
            <option key={member.id} value={member.id}>
              {member.name}
            </option>
          ))}
        </select>
        <label className={s.meta}>
          since <input type="date" value={asked.after} onChange={(event) => set("after", event.target.value)} />
        </label>
        <Button type="submit" look="primary">
          Search
        </Button>
      </form>
      <div className={s.results}>
        {!asked.q ? (
          <Empty title="What are you looking for?">
            <p>Words in any order; a phrase in quotes. Only rooms that you may read are searched.</p>
          </Empty>
        ) : found.isPending ? (
          <Skeleton />
        ) : found.error ? (
          <Failed error={found.error} onRetry={() => void found.refetch()} />
        ) : !items.length ? (
          <Empty title="Nothing found">
            <p>No message holds all of these words. Try fewer, or another room.</p>
          </Empty>
        ) : (
          items.map((message) => {
            const space = state.spaces[message.spaceId];
            return (
              <Link key={message.id} href={`/rooms/${message.spaceId}?message=${message.id}`} className={s.result}>
                <span className={s.by}>
                  <b><Who id={message.authorId} /></b>
                  <span className={s.meta}>{space ? (space.kind === "dm" ? titleOf(space, state) : `#${titleOf(space, state)}`) : ""}</span>
                  <Ago at={message.createdAt} />
                </span>
                <Snippet message={message} />
              </Link>
            );
          })
        )}
        {found.hasNextPage && <Button onClick={() => void found.fetchNextPage()}>More</Button>}
      </div>
    </main>
  );
}
