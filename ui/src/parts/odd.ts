// Characters that make a text read differently from what it is: shown by their number where exactness counts.
const ODD = /[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\u0000-\u0008\u000b-\u001f\u007f-\u00a0]|[\u{e0000}-\u{e0fff}]|[\u{1d173}-\u{1d17a}]/gu;

export type Piece = { text: string; odd: boolean };

export function pieces(text: string): Piece[] {
  const found: Piece[] = [];
  let from = 0;
  for (const match of text.matchAll(ODD)) {
    if (match.index > from) found.push({ text: text.slice(from, match.index), odd: false });
    const code = (match[0].codePointAt(0) as number).toString(16).toUpperCase().padStart(4, "0");
    found.push({ text: `‹U+${code}›`, odd: true });
    from = match.index + match[0].length;
  }
  if (from < text.length) found.push({ text: text.slice(from), odd: false });
  return found;
}

/** The same inside JSON, where a character can be written out: it stays itself, and is seen. */
export function escaped(json: string): string {
  return json.replace(ODD, (odd) => Array.from({ length: odd.length }, (_, at) => `\\u${odd.charCodeAt(at).toString(16).padStart(4, "0")}`).join(""));
}

export function isOdd(text: string): boolean {
  return pieces(text).some((piece) => piece.odd);
}

// What a name may not hold (bullpen/wire/names.py says it for new ones); joiners and the style of emoji stay.
const HIDDEN = /(?![\u200c\u200d\t\n\r])[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\uffa0]/gu;

/** An old name without what hides in it. */
export function clean(name: string): string {
  return name.replace(HIDDEN, "").replace(/\s+/g, " ").trim();
}
