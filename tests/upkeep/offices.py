"""A lived-in office: people, agents of both scopes, journals that quote what was said, DMs, edits and reactions."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from bullpen.testing import snapshot
from tests.databases import Database
from tests.driver import Api, Driver
from tests.path.scripts import call, say, step
from tests.path.talk import talk

Json = dict[str, Any]

WORD = "xylophagous"  # what Erin says, and nobody else
NAME = "Wilhelmina"  # what Erin is called
MEMORY = "quinquagenarian"  # what Mona remembers


@dataclass(frozen=True)
class Lived:
    """An open office in which `live` has happened."""

    office: Driver
    database: Database
    erin_id: str
    erin: Api

    async def talk_at_length(self, lines: int) -> None:
        """A long history of `attic`."""
        await talk(self.office, "attic", [f"line {n} of a long story" for n in range(lines)])
        await self.office.idle()


async def live(office: Driver) -> tuple[str, Api]:
    """`general` with Erin, Mona (one thread per space) and Lea (one mind), their DMs, and `attic` for comparison.

    Erin's id, and her API.
    """
    made = await office.create("/people", {"name": f"{NAME} Zwart"})
    token = await office.create("/tokens", {"name": f"token of {NAME}", "personId": made["id"]})
    erin = Api(office.office, token["token"])
    await office.agent(
        "mona",
        steps=[
            step(call("read_messages", limit=5)),
            step(call("react_to_message", messageId="{{trigger.messageId}}", emoji="👀")),
        ],
        instructions=f"You remember {MEMORY}.",
        blocks={"notes": f"the {MEMORY} note"},
        tools=["messaging", "memory"],
    )
    await office.agent("lea", steps=[say("heard")], scope="agent")
    await office.agent("echo", steps=[say("you said: {{trigger.text}}")])
    await office.create("/agents/mona/passages", {"content": f"a {MEMORY} passage"})
    await office.space("general", [made["id"], "mona", "lea"], wake={"people": "all", "agents": "none"})
    await office.space("attic", ["lea"], wake={"people": "all", "agents": "none"})
    await _talk(office, made["id"], erin)
    return made["id"], erin


async def _talk(office: Driver, erin_id: str, erin: Api) -> None:
    first = await office.post("general", "Good morning")
    await office.idle()
    said = await erin.create("/spaces/general/messages", {"text": f"{WORD} one", "clientMessageId": f"{WORD}-1"})
    await office.idle()
    await erin.create("/spaces/general/messages", {"text": f"two\n    {WORD}"})
    await office.idle()
    await erin.create(f"/messages/{first['id']}/reactions", {"emoji": "🦫"})
    await erin.ask("PATCH", f"/messages/{said['id']}", json={"text": f"{WORD} edited"})
    gone = await erin.create("/spaces/general/messages", {"text": f"{WORD} gone"})
    await office.idle()
    await erin.ask("DELETE", f"/messages/{gone['id']}")
    for other, text in (("echo", "between us: "), ("lea", "also "), (office.owner_id, "dear owner, ")):
        dm = await erin.create("/spaces", {"kind": "dm", "members": [erin_id, other]})
        await erin.create(f"/spaces/{dm['id']}/messages", {"text": text + WORD})
    with_owner = "dm-" + "-".join(sorted([erin_id, office.owner_id]))
    await office.post(with_owner, "Noted.")
    await office.post("attic", "Anybody here?")
    await office.idle()


async def hits(database: Database, word: str) -> list[str]:
    """Where a word stands: tables of the database, and on SQLite the files themselves."""
    seen = await snapshot.read(database.url)
    found = [
        f"{table}.{column}"
        for table, rows in seen.tables.items()
        for row in rows
        for column, value in row.items()
        if isinstance(value, str) and word.lower() in value.lower()
    ]
    if database.kind == "sqlite":
        for suffix in ("", "-wal"):
            path = database.path.with_name(database.path.name + suffix)
            with suppress(FileNotFoundError):  # the log is removed with the last connection
                if word.lower().encode() in path.read_bytes().lower():
                    found.append(f"bytes of {path.name}")
    return sorted(set(found))
