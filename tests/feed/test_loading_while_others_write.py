"""A client opens its stream, then fetches, while everybody goes on writing. In the end it knows what is there."""

from __future__ import annotations

import asyncio
import itertools
import random
from contextlib import AsyncExitStack

import pytest

from tests import effort
from tests.driver import Api, Json
from tests.feed.snapshots import apply, fetch, followed, load, seen
from tests.feed.streams import following
from tests.feed.worlds import World

AT_LEAST = 8
END = "the last word"


async def write(world: World, caller: Api, name: str, seed: int, enough: asyncio.Event) -> None:
    """Post, edit, delete, react, take it back, rename the space, in any order, until it is enough."""
    dice = random.Random(f"{seed} {name}")
    mine: list[Json] = []
    reacted: set[str] = set()
    for number in itertools.count():
        if enough.is_set() and number > AT_LEAST:
            return
        match dice.choice(["post", "post", "edit", "delete", "react", "react", "unreact", "rename"]):
            case "edit" if mine:
                await caller.ask("PATCH", f"/messages/{dice.choice(mine)['id']}", json={"text": f"edited {number}"})
            case "delete" if len(mine) > 2:
                await caller.ask("DELETE", f"/messages/{mine.pop()['id']}")
            case "react":
                emoji = f"{name}{number}"
                await caller.create(f"/messages/{world.messages['pia']['id']}/reactions", {"emoji": emoji})
                reacted.add(emoji)
            case "unreact" if reacted:
                emoji = reacted.pop()
                await caller.ask("DELETE", f"/messages/{world.messages['pia']['id']}/reactions/{emoji}")
            case "rename":
                await caller.ask("PATCH", "/spaces/team", json={"name": f"{name} {number}"})
            case _:
                mine.append(await caller.create("/spaces/team/messages", {"text": f"number {number}"}))


@pytest.mark.proves("M6")
@pytest.mark.parametrize("seed", effort.pick(range(1, 31), sample=2))
async def test_snapshot_plus_earlier_stream_gives_final_state_despite_concurrent_writes(
    world: World, seed: int
) -> None:
    names = ("owner", "pia", "ada")
    async with AsyncExitStack() as stack:
        streams = {n: await stack.enter_async_context(following(world.office, world[n])) for n in names}
        enough = asyncio.Event()
        writing = asyncio.gather(
            *(write(world, world[who], f"{who}{n}", seed, enough) for who in ("owner", "pia") for n in range(2))
        )
        fetched = await asyncio.gather(*(fetch(world[name]) for name in names))
        known = dict(zip(names, fetched, strict=True))
        assert not writing.done()
        enough.set()
        await writing
        await world.office.post("team", END)
        for name in names:
            await streams[name].until_text(END)
            after = apply(known[name], streams[name].stored)
            await load(world[name], after)
            assert followed(after) == seen(await fetch(world[name])), name
