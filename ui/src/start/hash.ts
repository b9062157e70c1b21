// What stands behind the #: codes, which are taken out of the address at once, and links into the office.
export type Entry = { kind: "claim"; code: string } | { kind: "invite"; code: string } | { kind: "unclaimed" } | { kind: "session"; again?: boolean };

export function placeOf(hash: string): { kind: "claim" | "invite"; code: string } | { kind: "go"; path: string } | null {
  const said = new URLSearchParams(hash.replace(/^#/, ""));
  for (const kind of ["claim", "invite"] as const) {
    const code = said.get(kind);
    if (code) return { kind, code };
  }
  const space = said.get("space");
  const message = said.get("message");
  if (space) return { kind: "go", path: `/rooms/${encodeURIComponent(space)}${message ? `?message=${encodeURIComponent(message)}` : ""}` };
  const call = said.get("call");
  if (call) return { kind: "go", path: `/pending?call=${encodeURIComponent(call)}` };
  return null;
}

export function readHash(): Entry {
  const place = placeOf(location.hash);
  if (!place) return { kind: "session" };
  if (place.kind === "go") {
    history.replaceState(null, "", place.path);
    window.dispatchEvent(new PopStateEvent("popstate"));
    return { kind: "session" };
  }
  history.replaceState(null, "", location.pathname);
  return place;
}
