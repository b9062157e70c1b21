// A schema from an agent is input like any other: bounded in size and depth, and it refers to nothing elsewhere.
import * as exact from "../api/exact";

const MOST_CHARACTERS = 64_000;
const MOST_DEPTH = 12;

export function safeSchema(schema: unknown): schema is Record<string, unknown> {
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) return false;
  try {
    if (exact.text(schema).length > MOST_CHARACTERS) return false;
  } catch {
    return false;
  }
  return (schema as { type?: unknown }).type === "object" && bounded(schema, 0);
}

function bounded(value: unknown, depth: number): boolean {
  if (depth > MOST_DEPTH) return false;
  if (Array.isArray(value)) return value.every((each) => bounded(each, depth + 1));
  if (typeof value !== "object" || value === null) return true;
  for (const [name, inner] of Object.entries(value)) {
    if (name === "$ref" && !(typeof inner === "string" && inner.startsWith("#"))) return false;
    if (name === "pattern" && (typeof inner !== "string" || /[+*}]\)*[+*{]/.test(inner))) return false;
    if (!bounded(inner, depth + 1)) return false;
  }
  return true;
}

/** Names of properties that a schema has and the arguments do not; null if it has none, so that there is nothing to fill in. */
export function leftOpen(schema: Record<string, unknown>, args: Record<string, unknown>): string[] | null {
  const { properties } = schema;
  if (typeof properties !== "object" || properties === null || !Object.keys(properties).length) return null;
  return Object.keys(properties).filter((name) => args[name] === undefined);
}
