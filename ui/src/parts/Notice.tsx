import { CircleAlert, CircleCheck, Info, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { sentence } from "../api/problems";
import { Button } from "./Button";
import s from "./parts.module.css";

const ICONS = { bad: CircleAlert, warn: TriangleAlert, ok: CircleCheck, plain: Info };

export function Notice({ tone = "plain", children }: { tone?: keyof typeof ICONS; children: ReactNode }) {
  const Icon = ICONS[tone];
  return (
    <div className={s.notice} data-tone={tone} role={tone === "bad" ? "alert" : undefined}>
      <Icon size={16} aria-hidden />
      <div>{children}</div>
    </div>
  );
}

/** A view that could not be loaded: what failed, and one button. */
export function Failed({ error, onRetry }: { error: unknown; onRetry?(): void }) {
  return (
    <div className={s.empty} role="alert">
      <h2>This could not be loaded</h2>
      <p>{sentence(error)}</p>
      {onRetry && <Button onClick={onRetry}>Try again</Button>}
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className={s.empty}>
      <h2>{title}</h2>
      {children}
    </div>
  );
}

export function Skeleton({ rows = 6 }: { rows?: number }) {
  return (
    <div className={s.skeleton} role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, row) => (
        <div className={s.bone} key={row}>
          <i />
          <div>
            <i style={{ inlineSize: `${20 + ((row * 7) % 15)}%` }} />
            <i style={{ inlineSize: `${50 + ((row * 23) % 40)}%` }} />
          </div>
        </div>
      ))}
    </div>
  );
}
