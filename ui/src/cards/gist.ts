import type { Call } from "./types";

function short(value: unknown): string {
  if (typeof value === "string") return value.length > 60 ? `${value.slice(0, 60)}…` : value;
  if (Array.isArray(value)) return `${value.length} items`;
  if (typeof value === "object" && value !== null) return `${Object.keys(value).length} fields`;
  return String(value);
}

/** A call in a few words: what came of it if that is short, else what it was given. */
export function gist(call: Pick<Call, "args" | "status" | "result">): string {
  const given = Object.entries(call.args).slice(0, 4).map(([name, value]) => `${name} ${short(value)}`).join(" · ");
  if (call.status === "expired") return "Nobody answered in time. The agent was told.";
  if (call.status === "cancelled") return "Stopped.";
  return given || (typeof call.result === "string" ? short(call.result) : "");
}
