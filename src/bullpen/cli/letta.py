"""bullpen memory import FILE.af: agents from Letta, with blocks, passages, conversation, and a report of the rest."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path

from bullpen.cli import show
from bullpen.cli.failures import CommandFailed
from bullpen.client import ApiError, Bullpen
from bullpen.client.fields import CreateAgentFields
from bullpen.errors import Invalid
from bullpen.memory import letta as files
from bullpen.memory.letta import LettaAgent

MOST_BYTES = 200 << 20
SILENT = {"provider": "script", "turns": []}


@dataclass(slots=True)
class Moved:
    """An agent that came along, and what could not."""

    agent: str
    made: bool
    blocks: int = 0
    passages: int = 0
    losses: list[str] = field(default_factory=list)


def read(file: str) -> bytes | None:
    """The file, if it is Letta's. None: it is something else, or comes over stdin."""
    path = Path(file)
    try:
        if file == "-" or not path.is_file():
            return None
        if path.suffix == ".af" and path.stat().st_size > MOST_BYTES:
            raise CommandFailed(f"{file} is larger than {MOST_BYTES >> 20} MB, which is more than can be imported.")
        return path.read_bytes() if path.suffix == ".af" else None
    except OSError as error:
        raise CommandFailed(f"Cannot read {file}: {error.strerror}.") from error


async def move_in(bp: Bullpen, raw: bytes, *, agent_id: str | None, model: str | None) -> list[Moved]:
    """`agent_id`: load into this agent, which is there. Otherwise each agent of the file is made, to think with
    `model` or with its own."""
    try:
        found = files.read(raw)
    except Invalid as error:
        raise CommandFailed(error.message) from None
    if agent_id is not None and len(found) > 1:
        names = ", ".join(agent.name for agent in found)
        raise CommandFailed(f"The file holds several agents ({names}), so --agent cannot say which one is meant.")
    for each in found:
        each.model = model or each.model
    return [await _move(bp, each, agent_id) for each in found]


async def _move(bp: Bullpen, found: LettaAgent, agent_id: str | None) -> Moved:
    moved = Moved(agent_id or found.id, agent_id is None, losses=list(found.losses))
    if agent_id is None:
        await _make(bp, found, moved)
    for block in found.blocks:
        try:
            await bp.blocks.set(
                moved.agent, block.label, block.content, description=block.description or None, limit=block.limit
            )
            moved.blocks += 1
        except ApiError as error:
            moved.losses.append(f"Block {block.label!r}: {error}")
    for passage in found.passages:
        try:
            await bp.passages.store(moved.agent, passage.content, tags=passage.tags, metadata=passage.metadata)
            moved.passages += 1
        except ApiError as error:
            moved.losses.append(f"A passage ({show.one_line(passage.content, 40)}): {error}")
    return moved


async def _make(bp: Bullpen, found: LettaAgent, moved: Moved) -> None:
    """With its model; if that cannot be used here, with the office's; if there is none, with one that says nothing."""
    fields: CreateAgentFields = {
        "id": found.id,
        "name": found.name,
        "description": found.description,
        "instructions": found.instructions,
    }
    if found.model is not None and (problem := await _try(bp, found, {**fields, "model": found.model})) is None:
        return
    if found.model is not None:
        moved.losses.append(f"The model {found.model!r} cannot be used here: {problem}")
    if await _try(bp, found, fields) is not None:  # the office has no model for new agents
        if (problem := await _try(bp, found, {**fields, "model": SILENT})) is not None:
            raise CommandFailed(f"The agent {found.name!r} cannot be made: {problem}")
        moved.losses.append("The agent has no model yet, and stays silent until you choose one.")


async def _try(bp: Bullpen, found: LettaAgent, fields: CreateAgentFields) -> ApiError | None:
    try:
        await bp.agents.create(**fields, tools=found.tools)
    except ApiError as error:
        if error.status == 409:
            said = f"There is an agent {found.id!r} already. To load the file into it, say --agent {found.id}."
            raise CommandFailed(said) from error
        return error
    return None


def tell(done: list[Moved], *, as_json: bool) -> None:
    if as_json:
        print(show.as_json({"agents": [asdict(each) for each in done]}))
        return
    for each in done:
        verb = "Made" if each.made else "Filled"
        print(f"{verb} the agent {each.agent}: {each.blocks} blocks, {each.passages} passages.")
        for loss in each.losses:
            print(f"  - {loss}")
