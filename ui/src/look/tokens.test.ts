// Every text on every ground it stands on: 4.5 to 1; lines of controls: 3 to 1. WCAG 2.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const css = readFileSync(join(import.meta.dirname, "tokens.css"), "utf8");
const tokens = new Map([...css.matchAll(/--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)/g)].map(([, name, light, dark]) => [name as string, [light, dark] as [string, string]]));

function luminance(hex: string): number {
  const [r, g, b] = [1, 3, 5].map((at) => {
    const channel = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(one: string, two: string): number {
  const [high, low] = [luminance(one), luminance(two)].sort((a, b) => b - a) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

const GROUNDS = ["bg", "sunken", "raised"];
const PAIRS: [string, string, number][] = [
  ...["text", "muted", "faint", "accent", "bad", "ok", "warn", "agent"].flatMap((ink) => GROUNDS.map((ground) => [ink, ground, 4.5] as [string, string, number])),
  ...["text", "muted"].map((ink) => [ink, "hover", 4.5] as [string, string, number]),
  ...["accent-soft", "agent-soft", "ok-soft", "warn-soft", "bad-soft"].map((ground) => ["text", ground, 4.5] as [string, string, number]),
  ["accent", "accent-soft", 4.5], ["agent", "agent-soft", 4.5], ["ok", "ok-soft", 4.5], ["warn", "warn-soft", 4.5], ["bad", "bad-soft", 4.5],
  ["on-accent", "accent", 4.5], ["line-strong", "bg", 3], ["line-strong", "raised", 3],
  ...[1, 2, 3, 4, 5, 6].map((n) => [`chart-${n}`, "raised", 3] as [string, string, number]),
];

describe("contrast", () => {
  it.each(PAIRS)("%s on %s is at least %d", (ink, ground, least) => {
    for (const theme of [0, 1] as const) expect(contrast(tokens.get(ink)?.[theme] ?? "", tokens.get(ground)?.[theme] ?? "")).toBeGreaterThanOrEqual(least);
  });
});

function styles(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.name.endsWith(".css") && entry.name !== "tokens.css")
    .map((entry) => join(entry.parentPath, entry.name));
}

describe.each(styles(join(import.meta.dirname, "..")))("%s", (path) => {
  const text = readFileSync(path, "utf8");
  it("has no colour of its own", () => expect(text.match(/#[0-9a-f]{3,8}\b|rgba?\(|hsla?\(/gi)).toBeNull());
  it("knows no left and right", () => expect(text.match(/(?:margin|padding|border)-(?:left|right)|[{;]\s*(?:left|right):|text-align:\s*(?:left|right)/g)).toBeNull());
});
