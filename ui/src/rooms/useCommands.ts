import { useQuery } from "@tanstack/react-query";
import { api } from "../api/client";
import type { Command } from "../api/nouns";

const NONE: Command[] = [];

/** What people can write in a space with a slash. Asked for once somebody wants to know. */
export function useCommands(spaceId: string, wanted: boolean): Command[] {
  const found = useQuery({ queryKey: ["commands", spaceId], queryFn: () => api.commands(spaceId), enabled: wanted, staleTime: 60_000 });
  return found.data?.items ?? NONE;
}

/** The command that a text begins with, if it is one. */
export function commandIn(text: string, commands: readonly Command[]): Command | undefined {
  const word = /^\/([\p{L}\p{N}_-]+)(?=\s|$)/u.exec(text)?.[1]?.toLowerCase();
  return commands.find((each) => each.name === word);
}

/** A command that somebody means, and that there is not. Paths and fractions are no commands. */
export function unknownCommand(text: string, commands: readonly Command[]): string | undefined {
  const word = /^\/([\p{L}\p{N}_-]+)(?=\s|$)/u.exec(text)?.[1];
  return word && commands.length && !commandIn(text, commands) ? word : undefined;
}
