// Filters that stand in the address, so that a view that was narrowed down can be linked to.
import { useSearchParams } from "wouter";
import { useLive } from "../live/store";
import { titleOf } from "../rooms/names";

type Filters = { asked(name: string): string; set(name: string, value: string): void; clear(): void };

export function useFilters(): Filters {
  const [search, setSearch] = useSearchParams();
  return {
    asked: (name) => search.get(name) ?? "",
    set: (name, value) =>
      setSearch(
        (before) => {
          const next = new URLSearchParams(before);
          if (value) next.set(name, value);
          else next.delete(name);
          return next;
        },
        { replace: true },
      ),
    clear: () => setSearch({}, { replace: true }),
  };
}

/** One of the rooms, or all; `only` names those that there is something of. */
export function RoomFilter({ value, only, onChange }: { value: string; only?: readonly string[]; onChange(room: string): void }) {
  const state = useLive((all) => all);
  const rooms = only ?? Object.keys(state.spaces);
  return (
    <select aria-label="Room" value={value} onChange={(event) => onChange(event.target.value)}>
      <option value="">All rooms</option>
      {rooms.map((id) => (
        <option key={id} value={id}>
          {state.spaces[id] ? titleOf(state.spaces[id], state) : id}
        </option>
      ))}
    </select>
  );
}
