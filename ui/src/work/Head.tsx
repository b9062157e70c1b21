import type { ReactNode } from "react";
import s from "./work.module.css";

export function PageHead({ title, count, children }: { title: ReactNode; count?: number; children?: ReactNode }) {
  return (
    <header className={s.head}>
      <h1 tabIndex={-1}>
        {title}
        {count !== undefined && <small>{count}</small>}
      </h1>
      {children && <div className={s.push}>{children}</div>}
    </header>
  );
}
