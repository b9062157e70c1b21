// JSON without rounding. A number of this language has 53 bits; an id of an order may have more, and whoever approves it
// must see and send it as it is. Integers that do not fit are BigInts between `parse` and `text`.
const LONG = /\d{16}/;
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const WHOLE = /^-?\d+$/;

// Marks what is a number in truth. Nobody can have written it before: it is new with every page.
const mark = `int-${crypto.randomUUID?.() ?? Math.random().toString(36).slice(2)}:`;
const marked = new RegExp(`"${mark}(-?\\d+)"`, "g");

export function parse(said: string): unknown {
  if (!LONG.test(said)) return JSON.parse(said);
  const kept = said.replace(TOKEN, (token) => (WHOLE.test(token) && !Number.isSafeInteger(Number(token)) ? `"${mark}${token}"` : token));
  return JSON.parse(kept, (_name, value: unknown) => (typeof value === "string" && value.startsWith(mark) ? BigInt(value.slice(mark.length)) : value));
}

/** As JSON; undefined has no such text. */
export function text(value: unknown, indent?: number): string {
  const written = JSON.stringify(value, (_name, each: unknown) => (typeof each === "bigint" ? mark + each.toString() : each), indent) as string | undefined;
  return written?.replace(marked, "$1") ?? "undefined";
}
