// Who is mentioned in a text: `@id` or `@Name`, any case, at a word boundary.
export type Named = { id: string; name: string };

const WORD = /[\p{L}\p{N}_-]/u;

export type Found = { from: number; to: number; id: string };

export function mentions(text: string, members: readonly Named[]): Found[] {
  if (!text.includes("@")) return [];
  const lower = text.toLowerCase();
  const names = members
    .flatMap((member) => [member.name, member.id].map((name) => ({ name: name.toLowerCase(), id: member.id })))
    .filter((each) => each.name)
    .sort((a, b) => b.name.length - a.name.length);
  const found: Found[] = [];
  for (let at = lower.indexOf("@"); at >= 0; at = lower.indexOf("@", at + 1)) {
    if (at > 0 && WORD.test(text[at - 1] as string)) continue;
    const hit = names.find(({ name }) => lower.startsWith(name, at + 1) && !WORD.test(text[at + 1 + name.length] ?? " "));
    if (!hit) continue;
    found.push({ from: at, to: at + 1 + hit.name.length, id: hit.id });
    at += hit.name.length;
  }
  return found;
}
