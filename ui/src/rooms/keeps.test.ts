import { expect, test } from "vitest";
import { type Kept, keepsRoom } from "./keeps";

const room: Kept = { kind: "channel", private: true, members: ["mia", "bo"], createdBy: "mia" };
const member = ["manage_space", "post"];

test.each([
  [room, "mia", member, true],
  [room, "bo", member, false],
  [room, "bo", [...member, "manage_agents"], true],
  [room, "olga", ["owner", "manage_space"], false],
  [{ ...room, private: false }, "olga", ["owner", "manage_space"], true],
  [{ ...room, members: ["bo"] }, "bo", member, true],
  [{ ...room, members: ["bo"], private: false }, "bo", member, false],
  [{ ...room, kind: "dm" } as Kept, "bo", member, true],
  [room, "bo", [], false],
])("who keeps a room %#", (space, me, grants, keeps) => expect(keepsRoom(space, me, grants)).toBe(keeps));
