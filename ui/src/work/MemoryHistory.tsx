// What a block was: who changed it, in which run and why, what changed, and a way back.
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { api } from "../api/client";
import type { Block, BlockVersion } from "../api/nouns";
import { Ago } from "../parts/Ago";
import { Button } from "../parts/Button";
import { Failed, Skeleton } from "../parts/Notice";
import { done, toast } from "../parts/toasts";
import { Who } from "../rooms/Who";
import type { Where } from "./MemoryBlocks";
import s from "./work.module.css";

type Props = { where: Where; current: Block; manages: boolean; onReverted(): Promise<void> };

export function MemoryHistory({ where, current, manages, onReverted }: Props) {
  const { agentId, label, place } = where;
  const versions = useInfiniteQuery({
    queryKey: ["memory", agentId, "history", label, place ?? "", current.version],
    queryFn: ({ pageParam }) => api.blockHistory(agentId, label, { spaceId: place, ...(pageParam ? { cursor: pageParam } : {}) }),
    initialPageParam: "",
    getNextPageParam: (page) => page.next,
  });
  const [shown, setShown] = useState<number | null>(null);
  if (versions.isPending) return <Skeleton rows={2} />;
  if (versions.error) return <Failed error={versions.error} onRetry={() => void versions.refetch()} />;
  const all = versions.data.pages.flatMap((page) => page.items);
  const revert = async (one: BlockVersion): Promise<void> => {
    try {
      await api.revertBlock(agentId, label, one.version, place);
      await onReverted();
      done(`${label} is as in version ${one.version}`, () => void api.revertBlock(agentId, label, current.version, place).then(onReverted, toast));
    } catch (error) {
      toast(error);
    }
  };
  return (
    <>
      <ol className={s.plain} aria-label={`Versions of ${label}`}>
        {all.map((one, at) => (
          <li key={one.version} className={s.line}>
            <Described one={one} />
            {all[at + 1] && (
              <Button aria-expanded={shown === one.version} onClick={() => setShown(shown === one.version ? null : one.version)}>
                What changed
              </Button>
            )}
            {manages && !one.deleted && one.version !== current.version && <Button onClick={() => void revert(one)}>Use it again</Button>}
            {shown === one.version && <Changes where={where} from={all[at + 1]?.version ?? one.version} to={one.version} />}
          </li>
        ))}
      </ol>
      {versions.hasNextPage && <Button onClick={() => void versions.fetchNextPage()}>Show older versions</Button>}
    </>
  );
}

function Described({ one }: { one: BlockVersion }) {
  return (
    <span>
      Version {one.version}
      {one.deleted && " (deleted)"}
      <small>
        {one.by && (
          <>
            <Who id={one.by} />,{" "}
          </>
        )}
        <Ago at={one.at} />
        {one.runId && (
          <>
            , in <Link href={`/runs/${one.runId}`}>this run</Link>
          </>
        )}
      </small>
      {one.reason && <small>{one.reason}</small>}
      {one.outside.length > 0 && <small>Written after reading text from outside: {one.outside.join(", ")}</small>}
    </span>
  );
}

function Changes({ where, from, to }: { where: Where; from: number; to: number }) {
  const { agentId, label, place } = where;
  const compared = useQuery({
    queryKey: ["memory", agentId, "diff", label, place ?? "", from, to],
    queryFn: () => api.blockHistory(agentId, label, { spaceId: place, from, to, limit: 1 }),
  });
  if (compared.isPending) return <Skeleton rows={1} />;
  if (compared.error) return <Failed error={compared.error} />;
  const lines = (compared.data.diff ?? "").split("\n").slice(3);
  if (lines.length === 0) return <p>The words are the same.</p>;
  return (
    <pre className={s.diff} tabIndex={0} aria-label={`What changed in version ${to}`}>
      {lines.map((line, place) => (
        <span key={place} data-sign={line[0]}>
          {line}
          {"\n"}
        </span>
      ))}
    </pre>
  );
}
