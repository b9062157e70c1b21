// What went wrong, as a sentence that says what to do.
import { Problem } from "./client";

export function sentence(error: unknown): string {
  if (!(error instanceof Problem)) return "This view could not be drawn. Reload the page; nothing was lost.";
  if (error.status === 0) return "No answer from the office. It is tried again by itself.";
  if (error.status === 401) return "You are not signed in any more. Sign in again to go on.";
  if (error.status === 429) return `Too much at once. Try again in ${Math.ceil(error.retryAfter ?? 5)} s.`;
  return error.message;
}

/** Sentences for what was meant for one field. */
export function fieldOf(error: unknown, name: string): string | undefined {
  return error instanceof Problem ? error.fields[name] : undefined;
}
