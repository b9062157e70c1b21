import { ExternalLink, ImageOff } from "lucide-react";
import Md, { RuleType, type MarkdownToJSX } from "markdown-to-jsx/react";
import { lazy, memo, Suspense, useState, type ReactNode } from "react";
import { closed } from "./closed";
import { isOwnFile, isSuspicious, safeLink } from "./links";
import { mentions, type Named } from "./mentions";
import s from "./parts.module.css";

const Colours = lazy(() => import("./Colours"));
const PLAIN_OVER = 20_000;

function words(children: ReactNode): string {
  if (typeof children === "string") return children;
  return Array.isArray(children) ? children.map(words).join("") : "";
}

function Link({ href, children }: { href?: string; children?: ReactNode }) {
  const [open, setOpen] = useState(false);
  const url = safeLink(href);
  if (!url) return <span>{children}</span>;
  const text = words(children);
  const says = text === href || text.includes(url.host) || url.protocol === "mailto:";
  if (isSuspicious(url) && !open)
    return (
      <button type="button" className={s.chip} onClick={() => setOpen(true)}>
        <ExternalLink size={12} aria-hidden /> Long link to {url.host} · show the whole address
      </button>
    );
  return (
    <>
      <a href={url.href} target="_blank" rel="noopener noreferrer nofollow">
        {isSuspicious(url) ? url.href : children}
      </a>
      {!says && <span className={s.host}> ({url.host})</span>}
    </>
  );
}

function Image({ src, alt }: { src?: string; alt?: string }) {
  if (isOwnFile(src)) return <img src={src} alt={alt ?? ""} loading="lazy" />;
  const url = safeLink(src);
  return (
    <span className={s.chip} title={src}>
      <ImageOff size={12} aria-hidden /> Image{url ? ` on ${url.host}` : ""} · not loaded
    </span>
  );
}

/** Wider than a phone: it scrolls by itself, and by keys. */
function Table({ children }: { children?: ReactNode }) {
  return (
    <div className={s.table} tabIndex={0} role="group" aria-label="Table">
      <table>{children}</table>
    </div>
  );
}

export function Code({ text, language, live }: { text: string; language?: string; live?: boolean }) {
  const plain = <code>{text}</code>;
  return (
    <div className={s.code}>
      <header>
        <span>{language ?? "text"}</span>
        <button type="button" className={s.link} onClick={() => void navigator.clipboard?.writeText(text)}>
          Copy
        </button>
      </header>
      <pre tabIndex={0} dir="ltr">
        {live || !language || text.length > PLAIN_OVER ? plain : <Suspense fallback={plain}><Colours text={text} language={language} /></Suspense>}
      </pre>
    </div>
  );
}

/** What somebody wrote. Nothing in it can run, load or lead anywhere by itself. */
export const Markdown = memo(function Markdown({ text, members, meId, live }: { text: string; members: readonly Named[]; meId?: string; live?: boolean }) {
  const renderRule: MarkdownToJSX.Options["renderRule"] = (next, node, _children, state) => {
    if (node.type === RuleType.text) return <Mentions key={state.key} text={node.text} members={members} meId={meId} />;
    if (node.type === RuleType.codeBlock) return <Code key={state.key} text={node.text} language={node.lang?.split(/\s/)[0]} live={live} />;
    return next();
  };
  return (
    <div className={`${s.md} ${live ? s.caret : ""}`} dir="auto">
      <Md
        options={{
          disableParsingRawHTML: true,
          wrapper: "div",
          forceWrapper: true,
          forceBlock: true,
          overrides: { a: Link, img: Image, table: Table },
          sanitizer: (value, _tag, attribute) => (attribute === "href" ? (safeLink(value) ? value : null) : value),
          renderRule,
        }}
      >
        {live ? closed(text) : text}
      </Md>
    </div>
  );
});

export function Mentions({ text, members, meId }: { text: string; members: readonly Named[]; meId?: string }) {
  const found = mentions(text, members);
  if (!found.length) return text;
  const shown: ReactNode[] = [];
  let from = 0;
  for (const each of found) {
    shown.push(text.slice(from, each.from));
    shown.push(
      <bdi key={each.from} className={s.mention} data-me={each.id === meId || undefined}>
        {text.slice(each.from, each.to)}
      </bdi>,
    );
    from = each.to;
  }
  return <>{[...shown, text.slice(from)]}</>;
}
