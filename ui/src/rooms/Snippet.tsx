import type { FoundMessage } from "../api/nouns";

/** The part of a message around what was searched for, with the hits marked. */
export function Snippet({ message }: { message: FoundMessage }) {
  const letters = [...message.snippet];
  const shown: React.ReactNode[] = [];
  let from = 0;
  for (const [start, end] of message.highlights) {
    shown.push(letters.slice(from, start).join(""), <mark key={start}>{letters.slice(start, end).join("")}</mark>);
    from = end;
  }
  shown.push(letters.slice(from).join(""));
  return <span dir="auto">{shown}</span>;
}
