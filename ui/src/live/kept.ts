// What this device remembers: small things in localStorage, which may be full or forbidden.
export function kept<T>(name: string, otherwise: T): T {
  try {
    const found = localStorage.getItem(`bullpen.${name}`);
    return found === null ? otherwise : (JSON.parse(found) as T);
  } catch {
    return otherwise;
  }
}

/** Whether it is kept. Full or forbidden: the page works without it until it is closed. */
export function keep(name: string, value: unknown): boolean {
  try {
    if (value === undefined || value === null) localStorage.removeItem(`bullpen.${name}`);
    else localStorage.setItem(`bullpen.${name}`, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}

/** Everything whose name begins so, by the rest of its name. Each has a place of its own, so that tabs do not overwrite each other's. */
export function keptUnder<T>(prefix: string): Record<string, T> {
  const found: Record<string, T> = {};
  for (const key of storedKeys()) {
    if (!key.startsWith(`bullpen.${prefix}`)) continue;
    const value = kept<T | null>(key.slice("bullpen.".length), null);
    if (value !== null) found[key.slice(`bullpen.${prefix}`.length)] = value;
  }
  return found;
}

function storedKeys(): string[] {
  try {
    return Object.keys(localStorage);
  } catch {
    return [];
  }
}

/** Calls when another tab has changed something whose name begins so. */
export function onKeptElsewhere(prefix: () => string, then: () => void): void {
  window.addEventListener("storage", (event) => {
    if (event.key === null || event.key.startsWith(`bullpen.${prefix()}`)) then();
  });
}
