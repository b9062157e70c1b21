// How a tool looks, found by its name. A tool without a row here is drawn by Fallback.
import { chartCard } from "./ChartCard";
import { chooseCard } from "./Choose";
import { confirmCard } from "./Confirm";
import { fallbackCard } from "./Fallback";
import { formCard } from "./FormCard";
import type { Call, Card } from "./types";

const cards: Record<string, Card<never, never>> = {
  confirm: confirmCard as Card<never, never>,
  confirmAction: confirmCard as Card<never, never>,
  confirm_action: confirmCard as Card<never, never>,
  choose: chooseCard as Card<never, never>,
  form: formCard as Card<never, never>,
  show_chart: chartCard as Card<never, never>,
  displayChart: chartCard as Card<never, never>,
};

/** Cards that the owner brought: `cards/<tool>.js` in the data folder. */
const brought: Record<string, Card> = {};

export function bring(toolName: string, card: Card): void {
  brought[toolName] = card;
}

export function registered(): Record<string, Card> {
  return { ...(cards as unknown as Record<string, Card>), ...brought };
}

/** Exact name, then `mcp__server__*`, then the fallback; and the fallback, too, where the arguments do not fit. */
export function cardFor(call: Pick<Call, "toolName" | "args" | "argsComplete" | "kind" | "status">): Card {
  const all = registered();
  const server = /^mcp__([^_]+(?:_[^_]+)*)__/.exec(call.toolName)?.[1];
  const found = all[call.toolName] ?? (server ? all[`mcp__${server}__*`] : undefined);
  if (found && (!call.argsComplete || found.accepts(call.args))) return found;
  return fallbackCard;
}

export { fallbackCard };
