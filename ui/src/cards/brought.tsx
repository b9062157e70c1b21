// Cards that the owner put into the data folder: `cards/<tool>.js`, plain modules of our own origin.
import { useEffect, useRef } from "react";
import { bring } from "./index";
import type { Call, Card, CardProps } from "./types";

type Mounted = { update?(call: Call, mayAnswer: boolean): void; unmount?(): void };
type Module = {
  summary?(call: Call): string;
  accepts?(args: unknown): boolean;
  mount(element: HTMLElement, call: Call, answer: (result: unknown) => Promise<unknown>, mayAnswer: boolean): Mounted | void;
};

export function wrapped(module: Module): Card {
  function View({ call, mayAnswer, answer }: CardProps) {
    const place = useRef<HTMLDivElement>(null);
    const mounted = useRef<Mounted | void>(undefined);
    useEffect(() => {
      if (place.current) mounted.current = module.mount(place.current, call, answer, mayAnswer);
      return () => mounted.current?.unmount?.();
    }, []);
    useEffect(() => mounted.current?.update?.(call, mayAnswer), [call, mayAnswer]);
    return <div ref={place} data-call={call.callId} />;
  }
  return { summary: module.summary ?? ((call) => call.toolName), accepts: module.accepts ?? (() => true), View };
}

export async function loadBrought(): Promise<void> {
  try {
    const answer = await fetch("/cards");
    const { items } = (await answer.json()) as { items: string[] };
    await Promise.all(
      items.map(async (name) => {
        const address = `/cards/${encodeURIComponent(name)}.js`;
        bring(name, wrapped((await import(/* @vite-ignore */ address)) as Module));
      }),
    );
  } catch {
    // Without them, the fallback shows those tools.
  }
}
