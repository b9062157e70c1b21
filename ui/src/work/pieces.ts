// Divides what a model is shown into words and data: `[tool_result] {…}` is a result, not a sentence. Pure.
export type Piece = { text: string; data?: unknown };

const MARK = /^(.*?)\[(tool_result|trigger|expired|subagent|task)\] (\{.*\})\s*$/;
const WORDS: Record<string, string> = {
  tool_result: "An answer that came later", trigger: "Sent by a program", expired: "Nobody answered in time", subagent: "A helper's report", task: "From a schedule",
};

/** `parse` reads JSON; what it cannot read stays words. */
export function piecesOf(content: string, parse: (text: string) => unknown): Piece[] {
  const found: Piece[] = [];
  const say = (line: string): void => {
    const last = found.at(-1);
    if (last && last.data === undefined) last.text += `\n${line}`;
    else found.push({ text: line });
  };
  for (const line of content.split("\n")) {
    const hit = MARK.exec(line);
    const data = hit ? read(hit[3] as string, parse) : undefined;
    if (!hit || data === undefined) {
      say(line);
      continue;
    }
    if (hit[1]?.trim()) say(hit[1].trim());
    found.push({ text: WORDS[hit[2] as string] ?? "", data });
  }
  return found.map((piece) => (piece.data === undefined ? { text: piece.text.trim() } : piece)).filter((piece) => piece.data !== undefined || piece.text);
}

function read(text: string, parse: (text: string) => unknown): unknown {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}
