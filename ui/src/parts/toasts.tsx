// Short notes at the edge: what went wrong just now, or what was done and can be undone.
import { X } from "lucide-react";
import { useStore } from "zustand";
import { createStore } from "zustand/vanilla";
import { sentence } from "../api/problems";
import { IconButton, TextButton } from "./Button";
import s from "./toasts.module.css";

type Toast = { id: number; text: string; tone: "bad" | "plain"; undo?: () => void };
const toasts = createStore<{ shown: Toast[] }>(() => ({ shown: [] }));
let next = 1;

function add(made: Omit<Toast, "id">): void {
  const id = next++;
  if (toasts.getState().shown.some((each) => each.text === made.text && each.tone === made.tone)) return; // said already
  toasts.setState(({ shown }) => ({ shown: [...shown.slice(-2), { ...made, id }] }));
  setTimeout(() => drop(id), 8_000);
}

function drop(id: number): void {
  toasts.setState(({ shown }) => ({ shown: shown.filter((each) => each.id !== id) }));
}

export function toast(error: unknown): void {
  add({ text: typeof error === "string" ? error : sentence(error), tone: "bad" });
}

export function done(text: string, undo?: () => void): void {
  add({ text, tone: "plain", undo });
}

export function Toasts() {
  const shown = useStore(toasts, (state) => state.shown);
  return (
    <div className={s.toasts} role="status">
      {shown.map((each) => (
        <div key={each.id} className={s.toast} data-tone={each.tone}>
          <span>{each.text}</span>
          {each.undo && (
            <TextButton
              onClick={() => {
                each.undo?.();
                drop(each.id);
              }}
            >
              Undo
            </TextButton>
          )}
          <IconButton label="Dismiss" mini onClick={() => drop(each.id)}>
            <X size={14} />
          </IconButton>
        </div>
      ))}
    </div>
  );
}
