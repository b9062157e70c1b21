// What this device remembers: small things in localStorage, which may be full or forbidden.
export function kept<T>(name: string, otherwise: T): T {
  try {
    const found = localStorage.getItem(`bullpen.${name}`);
    return found === null ? otherwise : (JSON.parse(found) as T);
  } catch {
    return otherwise;
  }
}

export function keep(name: string, value: unknown): void {
  try {
    if (value === undefined || value === null) localStorage.removeItem(`bullpen.${name}`);
    else localStorage.setItem(`bullpen.${name}`, JSON.stringify(value));
  } catch {
    // Full or forbidden: the page works without it until it is closed.
  }
}
