// What a model was shown, in its parts. Headings and tags that begin a line divide it; tokens are estimated. Pure.
export type Section = { name: string; text: string; tokens: number };

const HEAD = /^(?:#{1,3}\s+(.+)|<([a-z_][\w-]*)(?:\s[^>]*)?>)\s*$/i;

export function sections(content: string): Section[] {
  const found: { name: string; lines: string[] }[] = [];
  let current = { name: "what was said", lines: [] as string[] };
  for (const line of content.split("\n")) {
    const head = HEAD.exec(line);
    if (head) {
      if (current.lines.some((each) => each.trim())) found.push(current);
      current = { name: (head[1] ?? head[2] ?? "").replace(/_/g, " ").toLowerCase(), lines: [] };
    } else current.lines.push(line);
  }
  if (current.lines.some((each) => each.trim()) || !found.length) found.push(current);
  return found.map(({ name, lines }) => {
    const text = lines.join("\n").trim();
    return { name, text, tokens: Math.ceil(text.length / 4) };
  });
}
