import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse, text } from "./exact";

describe("numbers stay as they were written", () => {
  it.each([
    '{"id":1234567890123456789}',
    '{"id":-98765432109876543210,"list":[9007199254740993,{"deep":12345678901234567890}]}',
    '"1234567890123456789"',
    '{"1234567890123456789":"\\"1234567890123456789\\" and \\\\"}',
    '{"a":0.5,"b":1,"c":[],"d":null}',
  ])("%s", (said) => expect(text(parse(said))).toBe(said));

  it("and those that fit are numbers as ever", () => {
    expect(parse('{"at":1763337600000,"long":"x1234567890123456789","share":0.12345678901234567}')).toEqual({ at: 1763337600000, long: "x1234567890123456789", share: 0.12345678901234567 });
    expect(parse('{"id":1234567890123456789}')).toEqual({ id: 1234567890123456789n });
  });

  it("and no text can pretend to be one", () => {
    const forged = text({ name: 'int-0:1', more: "int-1234567890123456789:12345678901234567890" });
    expect(parse(forged)).toEqual({ name: "int-0:1", more: "int-1234567890123456789:12345678901234567890" });
  });
});

it("is indented where that is asked for", () => expect(text({ id: 1234567890123456789n }, 2)).toBe('{\n  "id": 1234567890123456789\n}'));

it("is how everything that came from the office is written: a plain stringify throws at such a number", () => {
  const src = join(import.meta.dirname, "..");
  const files = readdirSync(src, { recursive: true, encoding: "utf8" }).filter((name) => /\.tsx?$/.test(name) && !name.includes(".test."));
  const plain = files.filter((name) => readFileSync(join(src, name), "utf8").includes("JSON.stringify"));
  expect(plain.sort()).toEqual(["api/exact.ts", "live/kept.ts", "rooms/Typing.tsx"]);
});
