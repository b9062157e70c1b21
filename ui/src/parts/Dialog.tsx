import * as Ariakit from "@ariakit/react";
import { X } from "lucide-react";
import type { ReactNode } from "react";
import s from "./parts.module.css";

export function Dialog({ title, open, onClose, children }: { title: string; open: boolean; onClose(): void; children: ReactNode }) {
  return (
    <Ariakit.Dialog open={open} onClose={onClose} backdrop={<div className={s.backdrop} />} className={s.dialog} unmountOnHide>
      <header>
        <Ariakit.DialogHeading render={<h2 />}>{title}</Ariakit.DialogHeading>
      </header>
      {children}
      {/* The last, so that a dialog begins at its first field. Without a tip: it would take the first Esc for itself. */}
      <button type="button" aria-label="Close" className={`${s.icon} ${s.mini} ${s.close}`} onClick={onClose}>
        <X size={17} aria-hidden />
      </button>
    </Ariakit.Dialog>
  );
}
