// Which addresses a text from somebody may lead to, and how they are shown.
const ALLOWED = new Set(["http:", "https:", "mailto:"]);

export function safeLink(href: string | undefined): URL | null {
  if (!href) return null;
  try {
    const url = new URL(href, "https://relative.invalid");
    if (!ALLOWED.has(url.protocol) || url.hostname === "relative.invalid") return null;
    return url;
  } catch {
    return null;
  }
}

/** Long queries can carry away what they please: they are not one click away. */
export function isSuspicious(url: URL): boolean {
  return url.search.length > 200 || url.hash.length > 200;
}

/** Only files of the office itself. */
export function isOwnFile(src: string | undefined): boolean {
  return !!src && /^\/api\/files\/[A-Za-z0-9_-]+(\/(content|thumbnail))?$/.test(src);
}
