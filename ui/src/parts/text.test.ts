import { describe, expect, it } from "vitest";
import { left, money, names, plainText, took, wokenBy } from "../words/en";
import { ago, dayOf } from "./Ago";
import { isOwnFile, isSuspicious, safeLink } from "./links";
import { mentions } from "./mentions";
import type { Member } from "../api/nouns";
import { isShared } from "../rooms/names";
import { clean, pieces } from "./odd";
import { placeOf } from "../start/hash";
import { fieldsOf, valueOf, type Field } from "../cards/fields";
import { piecesOf } from "../work/pieces";

describe("mentions", () => {
  const members = [{ id: "ada", name: "Ada" }, { id: "psn_1", name: "Anna Maria" }];
  it.each([
    ["hey @ada", ["ada"]],
    ["@ADA, @Anna Maria!", ["ada", "psn_1"]],
    ["mail a@ada.example", []],
    ["@adam", []],
    ["(@ada)", ["ada"]],
  ])("in %j", (text, ids) => expect(mentions(text, members).map((each) => each.id)).toEqual(ids));
});

describe("characters that cannot be seen", () => {
  it.each([
    ["plain", "plain"],
    ["a\u202eb", "a‹U+202E›b"],
    ["a\u200bb\u00a0c", "a‹U+200B›b‹U+00A0›c"],
    ["tag\u{e0041}", "tag‹U+E0041›"],
    ["مرحبا 👩 ok\n", "مرحبا 👩 ok\n"],
  ])("in %j", (text, shown) => expect(pieces(text).map((piece) => piece.text).join("")).toBe(shown));
});

describe("names", () => {
  it.each([
    ["Ada", "Ada"],
    ["Ada\u202e si", "Ada si"],
    ["me\u3164", "me"],
    ["\u200b\u2060", ""],
    ["علی‌رضا 👩‍🚀❤️", "علی‌رضا 👩‍🚀❤️"],
  ])("without what hides in %j", (name, shown) => expect(clean(name)).toBe(shown));
  it("that are shared are known", () => {
    const members = Object.fromEntries([["a", "me"], ["b", "ME\u3164"], ["c", "Bo"]].map(([id, name]) => [id, { id, name } as Member]));
    expect(["a", "b", "c", "d"].map((id) => isShared(members, id))).toEqual([true, true, false, false]);
  });
});

describe("links", () => {
  it.each(["javascript:alert(1)", "data:text/html,x", "vbscript:x", "/api/me", "//", "file:///etc/passwd", undefined])("refuses %j", (href) => expect(safeLink(href)).toBeNull());
  it.each(["https://a.example/x", "http://a.example", "mailto:a@b.example"])("takes %j", (href) => expect(safeLink(href)?.href).toContain(href.slice(0, 12)));
  it("holds back long queries", () => expect(isSuspicious(safeLink(`https://e.example/?${"q".repeat(300)}`) as URL)).toBe(true));
  it("loads images of the office alone", () => {
    expect(isOwnFile("/api/files/fil_1/thumbnail")).toBe(true);
    for (const src of ["https://e.example/x.png", "/api/files/../me", "/api/me", "//e.example/api/files/x"]) expect(isOwnFile(src)).toBe(false);
  });
});

describe("what stands behind the #", () => {
  it.each([
    ["#claim=abc", { kind: "claim", code: "abc" }],
    ["#invite=abc", { kind: "invite", code: "abc" }],
    ["#space=general&message=msg_1", { kind: "go", path: "/rooms/general?message=msg_1" }],
    ["#call=call_1", { kind: "go", path: "/pending?call=call_1" }],
    ["#space=a/../b", { kind: "go", path: "/rooms/a%2F..%2Fb" }],
    ["#main", null],
  ])("%s", (hash, place) => expect(placeOf(hash)).toEqual(place));
});

describe("words", () => {
  it("of money", () => expect([0, 0.0004, 0.012, 1.84].map((dollars) => money(dollars))).toEqual(["free", "< $0.001", "$0.012", "$1.84"]));
  it("of durations", () => expect([20, 8400, 125_000, 7_260_000].map(took)).toEqual(["< 0.1 s", "8.4 s", "2 min 5 s", "2 h 1 min"]));
  it("of what is left", () => expect([252_000, 3_700_000, 200_000_000].map(left)).toEqual(["4:12 left", "1 h 1 min left", "2 days left"]));
  it("of names", () => expect(names(["Ada", "Bo", "Cy", "Di", "Ed"])).toBe("Ada, Bo, Cy, and 2 others"));
  it("of times", () => {
    const now = Date.parse("2026-11-16T12:00:00");
    expect(ago(now - 30_000, now)).toBe("just now");
    expect(ago(now - 4 * 60_000, now)).toBe("4 minutes ago");
    expect(dayOf("2026-11-15T23:00:00", now)).toBe("Yesterday");
  });
});

it("shows results in what a model was shown as data, and everything else as words", () => {
  const found = piecesOf('New for you: [tool_result] {"callId": "call_1", "result": 3}\nand a word\n[trigger] {not json', JSON.parse);
  expect(found).toEqual([
    { text: "New for you:" },
    { text: "An answer that came later", data: { callId: "call_1", result: 3 } },
    { text: "and a word\n[trigger] {not json" },
  ]);
});

describe("what has happened and what comes", () => {
  const now = Date.parse("2026-11-16T12:00:00");
  it("never says that something that has happened lies ahead", () => expect(ago(now + 120_000, now)).toBe("just now"));
  it("says when something comes", () => expect(ago(now + 120_000, now, true)).toBe("in 2 minutes"));
});

describe("arguments as fields", () => {
  const fields = fieldsOf({ to: "ada", big: 12345678901234567890n, odd: "a\u200bb", on: true }, { properties: { note: { type: "string" }, size: { enum: ["s", "m"] } } });
  it("has one for each argument, and for those left out", () => expect(fields.map((each) => `${each.name} ${each.kind}`)).toEqual(["to text", "big number", "odd json", "on yes", "note text", "size choice"]));
  it("keeps every digit", () => expect(fields[1]?.before).toBe("12345678901234567890"));
  it("names the field that is wrong", () => expect(valueOf(fields[1] as Field, "40 EUR")).toEqual({ problem: "big is a number, such as 40 or 2.5." }));
  it("takes words as they are", () => expect(valueOf(fields[0] as Field, '40 "EUR"')).toEqual({ value: '40 "EUR"' }));
});

describe("what woke a run", () => {
  const called = (id: string): string => ({ psn_1: "Mara" })[id] ?? id;
  it("names who answered", () => expect(wokenBy({ kind: "tool_result", toolName: "form" }, called, "psn_1")).toBe("Mara’s answer to form"));
  it("names the program", () => expect(wokenBy({ kind: "trigger", serviceName: "ci" }, called)).toBe("the program ci"));
});

it("does not call a model free that has no price", () => {
  expect(money(0, 2)).toBe("No price set");
  expect(money(0)).toBe("free");
  expect(money(0.5, 1)).toBe("$0.50 + steps without a price");
});

it("shows a quoted text without its marks", () => expect(plainText("**Mara** [said](https://x.example) `this`\n> and that")).toBe("Mara said this and that"));
