// Which build of the office this page came from, and whether its server has another one by now.
import { createStore } from "zustand/vanilla";
import { served } from "../api/client";

export const build = createStore<{ own: string; newer: boolean }>(() => ({ own: "", newer: false }));

/** The server that gave this page answers first; a restart with another page comes later. */
served.tell = (told) =>
  build.setState((state) => (state.own ? { newer: state.newer || told !== state.own } : { own: told }));
