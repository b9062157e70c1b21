// Which memory a run was shown, in which version, and what that took of its prompt.
import { Link } from "wouter";
import type { PromptBlock } from "../api/nouns";
import { Who } from "../rooms/Who";
import m from "./memory.module.css";

export function MemoryShown({ agentId, blocks }: { agentId: string; blocks: PromptBlock[] }) {
  if (!blocks.length) return null;
  return (
    <details className={m.shown}>
      <summary>
        {blocks.length} {blocks.length === 1 ? "block" : "blocks"} of memory, {blocks.reduce((sum, block) => sum + block.tokens, 0).toLocaleString("en")} tokens
      </summary>
      <ul>
        {blocks.map((block) => (
          <li key={`${block.sharedBy ?? ""}/${block.label}`}>
            <Link href={`/agents/${block.sharedBy ?? agentId}?tab=Memory`}>
              <bdi>{block.label}</bdi>
            </Link>
            , version {block.version}, {block.tokens.toLocaleString("en")} tokens
            {block.sharedBy && (
              <>
                , shared by <Who id={block.sharedBy} />
              </>
            )}
            {block.spaceId && ", for this room alone"}
          </li>
        ))}
      </ul>
    </details>
  );
}
