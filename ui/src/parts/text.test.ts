import { describe, expect, it } from "vitest";
import { left, money, names, took } from "../words/en";
import { ago, dayOf } from "./Ago";
import { isOwnFile, isSuspicious, safeLink } from "./links";
import { mentions } from "./mentions";
import type { Member } from "../api/nouns";
import { isShared } from "../rooms/names";
import { clean, pieces } from "./odd";
import { placeOf } from "../start/hash";
import { sections } from "../work/sections";

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
  it("of money", () => expect([0, 0.0004, 0.012, 1.84].map(money)).toEqual(["free", "< $0.001", "$0.012", "$1.84"]));
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

it("divides a prompt at its headings", () => {
  expect(sections("before\n# Rules\nbe kind\n<memory>\nx").map((part) => part.name)).toEqual(["what was said", "rules", "memory"]);
});
