// Somebody's name as it stands in a sentence: it cannot turn what is around it, and whoever shares it is told apart.
import { useLive } from "../live/store";
import { isShared, useName } from "./names";
import s from "./rooms.module.css";

/** `exact`: with the id in any case, where much depends on who it is. */
export function Who({ id, exact }: { id: string | null | undefined; exact?: boolean }) {
  const name = useName(id);
  const shared = useLive((state) => isShared(state.members, id));
  if (!id) return null;
  return (
    <>
      <bdi title={id}>{name}</bdi>
      {(exact || shared) && name !== id && (
        <>
          {" "}
          <code className={s.whose}>{id}</code>
        </>
      )}
    </>
  );
}
