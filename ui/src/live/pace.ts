// Gathers what comes and hands it on once per frame; by a timer where the tab is hidden and frames stop.
export function pace<T>(take: (gathered: T[]) => void): { add(...items: T[]): void } {
  let waiting: T[] = [];
  let planned = false;
  let watches = false;
  const flush = (): void => {
    planned = false;
    const gathered = waiting;
    waiting = [];
    if (gathered.length) take(gathered);
  };
  return {
    add(...items: T[]): void {
      // A frame that is planned when the tab is hidden comes only when it is shown again.
      if (!watches) document.addEventListener("visibilitychange", flush);
      watches = true;
      waiting.push(...items);
      if (planned) return;
      planned = true;
      if (document.hidden) setTimeout(flush, 100);
      else requestAnimationFrame(flush);
    },
  };
}
