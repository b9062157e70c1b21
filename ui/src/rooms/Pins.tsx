// Messages that members keep at hand, in the room's details.
import { useQuery } from "@tanstack/react-query";
import { PinOff } from "lucide-react";
import { Link } from "wouter";
import { api } from "../api/client";
import { loadPins } from "../live/load";
import { useLive } from "../live/store";
import { IconButton } from "../parts/Button";
import p from "../parts/parts.module.css";
import { toast } from "../parts/toasts";
import { plainText } from "../words/en";
import s from "./rooms.module.css";
import { Who } from "./Who";

export function Pins({ spaceId, mayPin }: { spaceId: string; mayPin: boolean }) {
  const ids = useLive((state) => state.rooms[spaceId]?.pins);
  const found = useQuery({ queryKey: ["pins", spaceId, ids?.join()], queryFn: () => loadPins(spaceId), placeholderData: (before) => before });
  const items = (found.data ?? []).filter((each) => !ids || ids.includes(each.id));
  return (
    <section className={s.section}>
      <h3>Pins</h3>
      {!items.length && <p className={p.hint}>Nothing is pinned yet. “Pin” stands in the menu of each message.</p>}
      <ul className={s.pins} aria-label="Pinned messages">
        {items.map((message) => (
          <li key={message.id}>
            <Link href={`/rooms/${spaceId}?panel=details&message=${message.id}`}>
              <b><Who id={message.authorId} /></b>
              <span dir="auto">{plainText(message.text).slice(0, 160) || "A card or a file"}</span>
            </Link>
            {mayPin && (
              <IconButton label="Take the pin away" mini onClick={() => void api.unpin(message.id).catch(toast)}>
                <PinOff size={15} />
              </IconButton>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
