"""More chapters of the story: an agent writes a skill, a person approves of it and starts it, and begins anew.

A kill may come between any two commits of it: afterwards there is one skill, it was proposed and told of once, and each
time that somebody wrote its name one run followed it, in a thread of its own.
"""

from __future__ import annotations

from bullpen.wire.nouns import Skill
from tests.durability.story import Deed, Person, say, script, turn

CHORES = {"name": "chores", "description": "What is to be done", "instructions": "Say what is to be done."}
CAST = [
    {
        "id": "maid",
        "name": "Maid",
        "tools": ["messaging", "skills"],
        "model": script(
            turn("keep it", [say("store_skill", **CHORES), say("list_skills")]),
            turn("monday", [say("send_message", text="the windows"), say("send_message", text="the floor")]),
            turn("again", [say("read_messages"), say("send_message", text="the windows, again")]),
        ),
    }
]
ROOMS = [{"id": "kitchen", "members": ["maid"], "wake": {"people": "all"}}]


async def set_up_skills(person: Person) -> None:
    await person.bp.apply(agents=CAST, spaces=ROOMS)


async def have_it_written(person: Person) -> None:
    await person.post("kitchen", "keep it", key="keep it")


async def skill(person: Person) -> Skill:
    while not (found := await person.bp.skills.list(space="kitchen")).items:
        await person.wait()
    return found.items[0]


async def approve(person: Person) -> None:
    found = await skill(person)
    if found.proposal is not None:
        await person.bp.skills.approve("kitchen", found.name, found.proposal.hash)


async def start(person: Person) -> None:
    await person.post("kitchen", "/chores monday", key="chores")


async def begin_anew(person: Person) -> None:
    await person.post("kitchen", "/new", key="new")
    await person.post("kitchen", "again", key="again")


async def drop_it(person: Person) -> None:
    if (await person.bp.skills.list(space="kitchen")).items:
        await person.bp.skills.delete("kitchen", "chores")
    await person.post("kitchen", "/help", key="help")


CHAPTERS: dict[str, list[Deed]] = {
    "a maid moves in": [set_up_skills],
    "a skill is written": [have_it_written],
    "a skill is approved": [approve],
    "a skill is started": [start],
    "the maid begins anew": [begin_anew],
    "a skill is gone": [drop_it],
}
