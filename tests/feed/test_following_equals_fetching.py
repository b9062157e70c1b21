"""Following events equals fetching again, for every action and for everyone who watches.

A snapshot, plus the events that the action caused, applied by a small pure reducer, is the snapshot that one would
fetch afterwards. Whatever a client can fetch and an event forgets to tell shows here.
"""

from __future__ import annotations

import asyncio
import re
from contextlib import AsyncExitStack
from functools import cache
from typing import Any

import pytest

from bullpen.wire.events import RecordedEvent, event_classes, name_events
from tests import effort
from tests.architecture import source
from tests.databases import Kind
from tests.driver import Json
from tests.feed.actions import ACTIONS, NOT_FOLLOWED, Action
from tests.feed.snapshots import Known, apply, fetch, followed, load, seen
from tests.feed.streams import Stream, following
from tests.feed.worlds import World
from tests.openapi import list_routes
from tests.waits import BOUND

MARK = "that was all"


# ── the test ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def mark(world: World, streams: dict[str, Stream]) -> None:
    """Wait until everybody has seen everything up to now: they all see what is said in the lobby next."""
    await world.office.idle()
    await world.office.post("lobby", MARK)
    for stream in streams.values():
        await stream.until_text(MARK)


_known_before: dict[Kind, dict[str, Known]] = {}


async def fetch_before(world: World) -> dict[str, Known]:
    """What everybody knows before anything is done. Each world is a copy of one original, so it is fetched once."""
    kind: Kind = "postgres" if world.office.office.store.shared else "sqlite"
    if kind not in _known_before:
        _known_before[kind] = {name: await fetch(caller) for name, caller in world.people.items()}
    return _known_before[kind]


@cache
def routes() -> dict[str, re.Pattern[str]]:
    """Every route as "POST /api/…", and the requests that are meant by it."""
    return {route: re.compile(re.sub(r"\{\w+\}", "[^/]+", route) + r"\Z") for route in list_routes()}


def note_routes(world: World) -> None:
    async def note(request: Any) -> None:
        line = f"{request.method} {request.url.path}"
        world.asked |= {name for name, pattern in routes().items() if pattern.match(line)}

    for caller in world.people.values():
        caller.http.event_hooks["request"].append(note)


def differences(expected: Json, got: Json) -> list[str]:
    found = []
    for noun in expected:
        for id in sorted({*expected[noun], *got[noun]}):
            fetched, kept = expected[noun].get(id), got[noun].get(id)
            if fetched != kept:
                found.append(f"{noun} {id}:\n  fetched  {fetched}\n  followed {kept}")
    return found


def on_some_databases(actions: list[Action], *, sample: int) -> list[Any]:
    """All actions. Only some of them run on both databases, unless everything does."""
    both = effort.pick(actions, sample=sample)
    return [pytest.param(each, marks=() if each in both else pytest.mark.one_database) for each in actions]


@pytest.mark.proves("M6")
@pytest.mark.parametrize("action", on_some_databases(ACTIONS, sample=10), ids=lambda action: action.name)
async def test_following_events_equals_fetching_again(action: Action, world: World) -> None:
    before = await fetch_before(world)
    streams: dict[str, Stream] = {}
    async with AsyncExitStack() as stack:
        for name, caller in world.people.items():
            streams[name] = await stack.enter_async_context(following(world.office, caller))
        note_routes(world)
        async with asyncio.timeout(BOUND):
            await action.do(world)
        assert action.routes <= world.asked, "it says that it uses these routes"
        await mark(world, streams)
        told = {event["type"] for stream in streams.values() for event in stream.stored}
        assert action.tells <= told, "it says that it tells these events"
        for name, caller in world.people.items():
            if any(event["type"] == "reset" for event in streams[name].events):
                assert name == "owner"
                assert action.resets_owner
                continue
            after = apply(before[name], streams[name].stored)
            await load(caller, after)
            wrong = differences(seen(await fetch(caller)), followed(after))
            assert not wrong, f"{name} sees something else when fetching:\n" + "\n".join(wrong)


def test_every_recordable_event_is_produced_by_some_test_action() -> None:
    """Events are recorded in `actions.py` files only (tests/architecture checks that), as objects of their class."""
    actions = [module for module in source.modules().values() if module.path.name == "actions.py"]
    used = set().union(*map(source.used_names, actions))
    recorded = (kind for kind in event_classes() if issubclass(kind, RecordedEvent) and kind.__name__ in used)
    assert name_events(*recorded) == {name for action in ACTIONS for name in action.tells}


def test_every_changing_route_is_a_test_action_or_exempted() -> None:
    changing = {route for route in routes() if not route.startswith("GET ")}
    followed_routes = {route for action in ACTIONS for route in action.routes}
    assert changing == followed_routes | set(NOT_FOLLOWED)
    assert not followed_routes & set(NOT_FOLLOWED)
