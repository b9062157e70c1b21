// The picker, loaded when somebody asks for it; its data comes from our own address.
import { EmojiPicker } from "frimousse";
import s from "./parts.module.css";

export const QUICK = ["👍", "❤️", "😂", "🎉", "👀", "✅", "🙏"];

export default function Emoji({ onPick }: { onPick(emoji: string): void }) {
  return (
    <EmojiPicker.Root className={s.emoji} emojibaseUrl="/assets/emoji" onEmojiSelect={({ emoji }) => onPick(emoji)} columns={9}>
      <div className={s.quick} role="group" aria-label="Often used">
        {QUICK.map((emoji) => (
          <button key={emoji} type="button" onClick={() => onPick(emoji)} aria-label={`React with ${emoji}`}>
            {emoji}
          </button>
        ))}
      </div>
      <EmojiPicker.Search aria-label="Search emoji" autoFocus />
      <EmojiPicker.Viewport>
        <EmojiPicker.Loading>Loading…</EmojiPicker.Loading>
        <EmojiPicker.Empty>No emoji found.</EmojiPicker.Empty>
        <EmojiPicker.List />
      </EmojiPicker.Viewport>
    </EmojiPicker.Root>
  );
}
