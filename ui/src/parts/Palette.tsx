import * as Ariakit from "@ariakit/react";
import { Activity, Bot, CalendarClock, Hash, Inbox, Moon, Pause, Play, Search, Settings, Sun, User } from "lucide-react";
import { useEffect, useMemo, useState } from "react";
import { useLocation } from "wouter";
import { api } from "../api/client";
import { freshNames } from "../live/load";
import { useLive } from "../live/store";
import { titleOf } from "../rooms/names";
import { Dialog } from "./Dialog";
import { setTheme, shownTheme } from "./look";
import s from "./parts.module.css";
import { SHORTCUTS } from "./shortcuts";
import { toast } from "./toasts";
import { write } from "../rooms/actions";

type Item = { id: string; group: string; label: string; note?: string; icon: React.ReactNode; run(): void };

export default function Palette({ first }: { first: "palette" | "help" }) {
  const [open, setOpen] = useState(first === "palette");
  const [help, setHelp] = useState(first === "help");
  useEffect(() => {
    const show = (): void => {
      freshNames();
      setOpen((before) => !before);
    };
    const showHelp = (): void => setHelp(true);
    window.addEventListener("bullpen:palette", show);
    window.addEventListener("bullpen:help", showHelp);
    return () => {
      window.removeEventListener("bullpen:palette", show);
      window.removeEventListener("bullpen:help", showHelp);
    };
  }, []);
  return (
    <>
      <Ariakit.Dialog open={open} onClose={() => setOpen(false)} backdrop={<div className={s.backdrop} />} className={s.palette} aria-label="Search or jump to" unmountOnHide>
        <Inside onClose={() => setOpen(false)} onHelp={() => setHelp(true)} />
      </Ariakit.Dialog>
      <Dialog title="Shortcuts" open={help} onClose={() => setHelp(false)}>
        <dl className={s.keys}>
          {SHORTCUTS.map(([keys, what]) => (
            <div key={what} style={{ display: "contents" }}>
              <dt>
                {keys.map((key) => (
                  <kbd key={key}>{key}</kbd>
                ))}
              </dt>
              <dd>{what}</dd>
            </div>
          ))}
        </dl>
      </Dialog>
    </>
  );
}

function Inside({ onClose, onHelp }: { onClose(): void; onHelp(): void }) {
  const [wanted, setWanted] = useState("");
  const items = useItems(wanted, onHelp);
  const groups = [...new Set(items.map((item) => item.group))];
  return (
    <Ariakit.ComboboxProvider open setValue={setWanted} resetValueOnHide>
      <Ariakit.Combobox autoSelect="always" placeholder="Search or jump to" aria-label="Search or jump to" autoFocus />
      <Ariakit.ComboboxList alwaysVisible className={s.options} aria-label="Found">
        {groups.map((group) => (
          <Ariakit.ComboboxGroup key={group}>
            <Ariakit.ComboboxGroupLabel className={s.group}>{group}</Ariakit.ComboboxGroupLabel>
            {items
              .filter((item) => item.group === group)
              .map((item) => (
                <Ariakit.ComboboxItem
                  key={item.id}
                  className={s.item}
                  value={item.id}
                  setValueOnClick={false}
                  focusOnHover
                  onClick={() => {
                    onClose();
                    item.run();
                  }}
                >
                  {item.icon}
                  <bdi>{item.label}</bdi>
                  {item.note && <small>{item.note}</small>}
                </Ariakit.ComboboxItem>
              ))}
          </Ariakit.ComboboxGroup>
        ))}
      </Ariakit.ComboboxList>
    </Ariakit.ComboboxProvider>
  );
}

/** `>` actions only, `@` people and agents, `#` rooms; else all of it, and the search for messages at the end. */
function useItems(wanted: string, onHelp: () => void): Item[] {
  const state = useLive((all) => all);
  const [, go] = useLocation();
  return useMemo(() => {
    const mark = /^[>@#]/.exec(wanted)?.[0] ?? "";
    const words = wanted.slice(mark.length).trim().toLowerCase();
    const fits = (text: string): boolean => text.toLowerCase().includes(words);
    const rooms: Item[] = Object.values(state.spaces)
      .filter((space) => space.kind !== "dm")
      .map((space) => ({ id: `room/${space.id}`, group: "Rooms", label: titleOf(space, state), icon: <Hash size={15} aria-hidden />, run: () => go(`/rooms/${space.id}`) }));
    const me = state.me?.id ?? "";
    const people: Item[] = Object.values(state.members)
      .filter((member) => member.id !== me)
      .map((member) => ({
        id: `member/${member.id}`,
        group: "People and agents",
        label: member.name,
        note: member.kind === "agent" ? "agent" : undefined,
        icon: member.kind === "agent" ? <Bot size={15} aria-hidden /> : <User size={15} aria-hidden />,
        run: () => void write(me, member.id, go),
      }));
    const dark = shownTheme() === "dark";
    const actions: Item[] = [
      { id: "do/pending", group: "Go and do", label: "Waiting for you", icon: <Inbox size={15} aria-hidden />, run: () => go("/pending") },
      { id: "do/runs", group: "Go and do", label: "Runs", icon: <Activity size={15} aria-hidden />, run: () => go("/runs") },
      { id: "do/tasks", group: "Go and do", label: "Tasks", icon: <CalendarClock size={15} aria-hidden />, run: () => go("/tasks") },
      { id: "do/agents", group: "Go and do", label: "Agents", icon: <Bot size={15} aria-hidden />, run: () => go("/agents") },
      { id: "do/models", group: "Go and do", label: "Models", icon: <Bot size={15} aria-hidden />, run: () => go("/models") },
      { id: "do/costs", group: "Go and do", label: "Costs and budgets", icon: <Activity size={15} aria-hidden />, run: () => go("/costs") },
      { id: "do/settings", group: "Go and do", label: "Settings", icon: <Settings size={15} aria-hidden />, run: () => go("/settings") },
      { id: "do/theme", group: "Go and do", label: dark ? "Switch to light" : "Switch to dark", icon: dark ? <Sun size={15} aria-hidden /> : <Moon size={15} aria-hidden />, run: () => setTheme(dark ? "light" : "dark") },
      { id: "do/keys", group: "Go and do", label: "Keyboard shortcuts", icon: <Settings size={15} aria-hidden />, run: onHelp },
      ...(state.me?.grants.includes("manage_agents")
        ? [
            { id: "do/pause", group: "Go and do", label: "Pause every agent", icon: <Pause size={15} aria-hidden />, run: () => void api.pauseAll().catch(toast) },
            { id: "do/resume", group: "Go and do", label: "Let all agents go on", icon: <Play size={15} aria-hidden />, run: () => void api.resumeAll().catch(toast) },
          ]
        : []),
    ];
    const found = [...(mark === "" || mark === "#" ? rooms : []), ...(mark === "" || mark === "@" ? people : []), ...(mark === "" || mark === ">" ? actions : [])].filter((item) => fits(item.label));
    const limited = words ? found : [...found.filter((item) => item.group === "Rooms").slice(0, 5), ...(mark === "@" ? found : found.filter((item) => item.group === "Go and do"))];
    if (words && mark === "") limited.push({ id: "search", group: "Messages", label: `Search messages for “${wanted.trim()}”`, icon: <Search size={15} aria-hidden />, run: () => go(`/search?q=${encodeURIComponent(wanted.trim())}`) });
    return limited;
  }, [wanted, state.spaces, state.members, state.me, go, onHelp]);
}
