// A form of a dialog: what is filled in, what went wrong, and the buttons. One look and one way for all of them.
import { useState, type ReactNode } from "react";
import { sentence } from "../api/problems";
import { Button } from "./Button";
import p from "./parts.module.css";

type Props = {
  verb: string; // on the button that saves
  onSave(): Promise<void>; // what it throws is shown
  onCancel?: () => void;
  cancel?: string;
  label?: string;
  look?: "primary" | "danger";
  disabled?: boolean;
  isShown?(problem: unknown): boolean; // beside its field already
  more?: ReactNode; // further buttons
  children: ReactNode | ((problem: unknown) => ReactNode);
};

export function Form({ verb, onSave, onCancel, cancel = "Cancel", label, look = "primary", disabled, isShown, more, children }: Props) {
  const [problem, setProblem] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const save = async (): Promise<void> => {
    setBusy(true);
    setProblem(null);
    try {
      await onSave();
    } catch (error) {
      setProblem(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      className={p.form}
      aria-label={label}
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      {typeof children === "function" ? children(problem) : children}
      {problem !== null && !isShown?.(problem) && (
        <p className={p.problem} role="alert">
          {sentence(problem)}
        </p>
      )}
      <div className={`${p.actions} ${p.end}`}>
        {more}
        {onCancel && <Button onClick={onCancel}>{cancel}</Button>}
        <Button look={look} type="submit" busy={busy} disabled={disabled}>
          {verb}
        </Button>
      </div>
    </form>
  );
}
