"""More chapters of the story: a bridge sees a chat, it is registered from the main group, and somebody speaks in it.

A kill may come between any two commits: afterwards the chat is one group, and what the group said stayed in it.
"""

from __future__ import annotations

from tests.durability.story import Deed, Person, say, script, turn

CHAT = {"jid": "tg:-77", "name": "Neighbours", "folder": "neighbours", "trigger": "@Host"}
CAST = [
    {
        "id": "host",
        "name": "Host",
        "scope": "agent",
        "tools": ["messaging", "memory", "groups"],
        "model": script(
            turn("register", [say("register_group", **CHAT)]),
            turn(
                "keep",
                [
                    say("store_memory", content="the cake is a surprise"),
                    say("update_memory", label="mood", content="sly"),
                ],
                [say("send_message", text="psst", spaceId="hall"), say("send_message", text="our secret")],
            ),
        ),
    }
]
ROOMS = [{"id": "hall", "kind": "group", "main": True, "members": ["host"]}]


async def set_up_groups(person: Person) -> None:
    await person.bp.apply(agents=CAST, spaces=ROOMS)
    await person.bp.groups.report(CHAT["jid"], "Next door")


async def register(person: Person) -> None:
    await person.post("hall", "register", key="register")


async def keep(person: Person) -> None:
    await person.post("neighbours", "@Host keep", key="keep")


CHAPTERS: dict[str, list[Deed]] = {
    "a bridge sees a chat": [set_up_groups],
    "the chat is registered": [register],
    "a group has a secret": [keep],
}
