// Keys that work everywhere. Single letters only outside of fields, and only while they are switched on.
import { useEffect } from "react";
import { useLocation } from "wouter";
import { kept } from "../live/kept";
import { isMuted } from "../live/muted";
import { store } from "../live/store";
import { openPalette } from "./openPalette";
import { usePanel } from "./panel";

export const SHORTCUTS: [string[], string][] = [
  [["Ctrl", "K"], "Search or jump to"],
  [["?"], "These shortcuts"],
  [["Esc"], "Close what is open, then go to the newest message"],
  [["j"], "Next message (in the timeline)"],
  [["k"], "Previous message"],
  [["Enter"], "Actions of the message"],
  [["r"], "Reply"],
  [["e"], "React"],
  [["w"], "Why?"],
  [["Alt", "↑↓"], "Previous, next room"],
  [["Alt", "Shift", "↑↓"], "Previous, next unread room"],
  [["g", "p"], "Waiting for you"],
  [["g", "r"], "Runs"],
  [["g", "t"], "Tasks"],
  [["g", "a"], "Agents"],
  [["Ctrl", "."], "Right panel"],
];

/** A single letter, while those are switched off in the settings. */
export function isSilenced(key: string): boolean {
  return key.length === 1 && !kept("letters", true);
}

// The key before: "g" waits for a second one.
let last = { key: "", at: 0 };

function isField(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && !!target.closest("input, textarea, select, [contenteditable], [role=dialog], [role=menu]");
}

export function useShortcuts(): void {
  const [place, go] = useLocation();
  const [panel, setPanel] = usePanel();
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const mod = event.metaKey || event.ctrlKey;
      if (mod && event.key.toLowerCase() === "k") {
        event.preventDefault();
        openPalette();
        return;
      }
      if (mod && event.key === ".") {
        event.preventDefault();
        setPanel(panel ? null : "details");
        return;
      }
      if (event.altKey && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
        event.preventDefault();
        step(event.key === "ArrowDown" ? 1 : -1, event.shiftKey);
        return;
      }
      if (event.key === "Escape" && !event.defaultPrevented) {
        if (document.querySelector("[role=dialog], [role=menu], [data-dialog]")) return;
        if (panel) setPanel(null);
        else window.dispatchEvent(new Event("bullpen:end"));
        return;
      }
      if (mod || event.altKey || isField(event.target) || isSilenced(event.key)) return;
      const after = Date.now() - last.at < 1_000 ? last.key : "";
      last = { key: event.key, at: Date.now() };
      if (event.key === "?") window.dispatchEvent(new Event("bullpen:help"));
      if (after !== "g") return;
      const to = { p: "/pending", r: "/runs", t: "/tasks", a: "/agents", h: "/rooms" }[event.key];
      if (to) {
        event.preventDefault();
        event.stopPropagation();
        go(to);
      }
    };
    const step = (by: number, unreadOnly: boolean): void => {
      const links = [...document.querySelectorAll<HTMLAnchorElement>('nav[aria-label="Rooms"] a')];
      const at = links.findIndex((link) => link.getAttribute("href") === place);
      for (let tries = 1; tries <= links.length; tries++) {
        const next = links[(at + by * tries + links.length * tries) % links.length];
        const id = next?.getAttribute("href")?.replace("/rooms/", "") ?? "";
        if (next && (!unreadOnly || ((store.getState().spaces[id]?.unread ?? 0) > 0 && !isMuted(id)))) {
          go(next.getAttribute("href") as string);
          return;
        }
      }
    };
    window.addEventListener("keydown", onKey, { capture: false });
    return () => window.removeEventListener("keydown", onKey);
  }, [place, go, panel, setPanel]);
}
