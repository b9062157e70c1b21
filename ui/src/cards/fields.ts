// The arguments of a call as fields that people fill in: words as words, numbers as numbers, the rest as JSON. Pure.
import * as exact from "../api/exact";
import { escaped, isOdd } from "../parts/odd";

export type Field = { name: string; kind: "text" | "number" | "yes" | "choice" | "json"; before: string; choices?: string[]; about?: string };
type Schema = { type?: unknown; enum?: unknown; description?: unknown };

/** Else what cannot be seen is written out, and the whole of it is JSON. */
const isPlain = (value: unknown): value is string => typeof value === "string" && !isOdd(value) && !/[\n\t]/.test(value);
const isNumber = (value: unknown): boolean => typeof value === "number" || typeof value === "bigint";

/** A field for each argument, and for each that was left out and that its schema knows. */
export function fieldsOf(args: Record<string, unknown>, schema?: Record<string, unknown>): Field[] {
  const known = (schema?.properties ?? {}) as Record<string, Schema>;
  const names = [...Object.keys(args), ...Object.keys(known).filter((name) => !(name in args))];
  return names.map((name) => fieldOf(name, args[name], known[name] ?? {}));
}

function fieldOf(name: string, value: unknown, schema: Schema): Field {
  const about = typeof schema.description === "string" ? schema.description : undefined;
  const field = (kind: Field["kind"], before: string): Field => ({ name, kind, before, about });
  const missing = value === undefined;
  const choices = Array.isArray(schema.enum) && schema.enum.every(isPlain) ? (schema.enum as string[]) : undefined;
  if (choices && (missing || (isPlain(value) && choices.includes(value)))) return { ...field("choice", value ?? ""), choices };
  if (isPlain(value) || (missing && schema.type === "string")) return field("text", (value as string | undefined) ?? "");
  if (typeof value === "boolean" || (missing && schema.type === "boolean")) return field("yes", missing ? "" : String(value));
  if (isNumber(value) || (missing && (schema.type === "number" || schema.type === "integer"))) return field("number", missing ? "" : exact.text(value));
  return field("json", missing ? "" : escaped(exact.text(value)));
}

/** What stands in a field, as an argument; `problem` names the field and says what it takes. */
export function valueOf(field: Field, text: string): { value: unknown } | { problem: string } {
  if (field.kind === "text" || field.kind === "choice") return { value: text };
  if (field.kind === "yes") return { value: text === "true" };
  try {
    const value: unknown = exact.parse(text.trim());
    if (field.kind === "json" || isNumber(value)) return { value };
  } catch {
    // said below
  }
  return { problem: field.kind === "number" ? `${field.name} is a number, such as 40 or 2.5.` : `${field.name} is not JSON. Texts stand in double quotes here.` };
}
