import { text as exactText } from "../api/exact";
import { useState } from "react";
import { number } from "../words/en";
import { pieces } from "./odd";
import s from "./parts.module.css";

const FOLD = 2000;

/** A text exactly as it is: what cannot be seen is shown by its number. */
export function Exact({ text }: { text: string }) {
  return (
    <bdi>
      {pieces(text).map((piece, at) =>
        piece.odd ? (
          <span key={at} className={s.odd} title="A character that cannot be seen">
            {piece.text}
          </span>
        ) : (
          piece.text
        ),
      )}
    </bdi>
  );
}

/** Every argument, quoted as JSON, in order. Long ones are folded visibly; `onOpened` tells which was opened. */
export function Args({ args, onOpened }: { args: unknown; onOpened?(name: string): void }) {
  const entries = isRecord(args) ? Object.entries(args) : args === undefined || args === null ? [] : [["", args] as [string, unknown]];
  if (!entries.length) return <p className={s.hint}>No arguments.</p>;
  return (
    <dl className={s.args}>
      {entries.map(([name, value]) => (
        <Entry key={name} name={name} value={value} onOpened={onOpened} />
      ))}
    </dl>
  );
}

function Entry({ name, value, onOpened }: { name: string; value: unknown; onOpened?(name: string): void }) {
  const text = exactText(value, 2);
  const [open, setOpen] = useState(false);
  const rest = text.length - FOLD;
  return (
    <>
      <dt>
        <Exact text={name} />
      </dt>
      <dd>
        <Exact text={open || rest <= 0 ? text : text.slice(0, FOLD)} />
        {!open && rest > 0 && (
          <button
            type="button"
            className={s.more}
            onClick={() => {
              setOpen(true);
              onOpened?.(name);
            }}
          >
            + {number(rest)} more characters
          </button>
        )}
      </dd>
    </>
  );
}

/** Names of arguments that are folded at first. */
export function foldedArgs(args: unknown): string[] {
  if (!isRecord(args)) return [];
  return Object.entries(args).filter(([, value]) => exactText(value, 2).length > FOLD).map(([name]) => name);
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
