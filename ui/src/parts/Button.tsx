import * as Ariakit from "@ariakit/react";
import { LoaderCircle } from "lucide-react";
import type { ComponentProps, ReactNode } from "react";
import s from "./parts.module.css";

type Look = "primary" | "danger" | "quiet";

export function Button({ look, busy, children, className, ...rest }: ComponentProps<"button"> & { look?: Look; busy?: boolean }) {
  return (
    <button type="button" {...rest} disabled={rest.disabled || busy} className={`${s.button} ${look ? s[look] : ""} ${className ?? ""}`}>
      {busy && <LoaderCircle size={15} className={s.spin} aria-hidden />}
      {children}
    </button>
  );
}

/** A picture with a name: the name is what screen readers say and what the tip shows. */
export function IconButton({ label, children, mini, className, ...rest }: ComponentProps<"button"> & { label: string; children: ReactNode; mini?: boolean }) {
  return (
    <Ariakit.TooltipProvider timeout={400}>
      <Ariakit.TooltipAnchor render={<button type="button" aria-label={label} {...rest} className={`${s.icon} ${mini ? s.mini : ""} ${className ?? ""}`} />}>
        {children}
      </Ariakit.TooltipAnchor>
      <Ariakit.Tooltip className={s.tip} unmountOnHide>
        {label}
      </Ariakit.Tooltip>
    </Ariakit.TooltipProvider>
  );
}

export function TextButton(props: ComponentProps<"button">) {
  return <button type="button" {...props} className={`${s.link} ${props.className ?? ""}`} />;
}
