// What woke a run, or came back to it, readably: data in a list, words as words.
import * as exact from "../api/exact";
import { Args } from "../parts/Args";
import { piecesOf } from "./pieces";
import s from "./work.module.css";

export function Said({ text }: { text: string }) {
  return (
    <>
      {piecesOf(text, exact.parse).map((piece, at) =>
        piece.data === undefined ? (
          <div key={at} className={s.said} tabIndex={0} dir="auto">
            {piece.text}
          </div>
        ) : (
          <div key={at} className={s.data}>
            <small>{piece.text}</small>
            <Args args={piece.data} />
          </div>
        ),
      )}
    </>
  );
}
