// The picker, loaded when somebody asks for it; its data comes from our own address.
import { EmojiPicker, type EmojiPickerListEmojiProps, type EmojiPickerListRowProps } from "frimousse";
import s from "./parts.module.css";

export const QUICK = ["👍", "❤️", "😂", "🎉", "👀", "✅", "🙏"];

// The picker counts from 0. ARIA counts from 1, and takes a 0 for a mistake.
const Row = (props: EmojiPickerListRowProps) => <div {...props} aria-rowindex={props["aria-rowindex"] || undefined} />;
const One = ({ emoji, ...props }: EmojiPickerListEmojiProps) => (
  <button type="button" {...props} aria-colindex={(props["aria-colindex"] ?? 0) + 1}>
    {emoji.emoji}
  </button>
);
const COMPONENTS = { Row, Emoji: One };

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
        <EmojiPicker.List components={COMPONENTS} />
      </EmojiPicker.Viewport>
    </EmojiPicker.Root>
  );
}
