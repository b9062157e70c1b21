/** What an agent is for, in a word or two, out of its description; nothing if that takes more. */
export function roleOf(description: string | undefined): string | undefined {
  const first = description?.split(/[.;:,\n]/)[0]?.trim() ?? "";
  return first && first.length <= 24 ? first.toLowerCase() : undefined;
}
