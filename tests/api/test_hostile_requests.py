"""Requests made by Schemathesis from our own OpenAPI, good and bad ones, for every route: an answer, never a failure.

Each case is sent twice: as it was made, and with ids of things that are there, so that it gets past "there is no such
thing". Streams are left out, since they have no end; they have tests of their own.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any
from urllib.parse import quote

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.core import NotSet
from schemathesis.core.result import Ok

from tests import effort
from tests.databases import Kind
from tests.driver import Api
from tests.feed.worlds import World
from tests.openapi import read_openapi

# How many cases are drawn for each route in each of two modes, when all are tried or a slice of the routes.
CASES: dict[Kind, int] = {"sqlite": 30, "postgres": 14}
FEW_CASES = 2  # in a sample
FEW_ROUTES = 8  # of a sample on PostgreSQL
REQUESTS = 20_000  # at least so many in all
SHARDS = 4
AT_ONCE = 16
ENDLESS = {"GET /api/events"}
WITHOUT_INPUT = {"GET /healthz", "GET /readyz"}  # there is one good request, and no bad one
# A form, which cannot be sent as the JSON that everything is sent as here; tests/files/test_hostile_forms.py sends it.
FORMS = {"POST /api/files"}
REAL = {
    "agents": "ping",
    "spaces": "team",
    "people": "psn_otto",
    "messages": "",
    "runs": "",
    "files": "fil_none",
    "invites": "inv_none",
    "tokens": "tok_none",
    "tools": "callDesk",
    "hooks": "hook_none",
    "webhooks": "wh_none",
    "bridges": "mem",
}


@cache
def all_operations() -> list[Any]:
    """Every route that takes JSON and has an end."""
    schema = schemathesis.openapi.from_dict(read_openapi())
    found: list[Any] = [result.ok() for result in schema.get_all_operations() if isinstance(result, Ok)]
    return [operation for operation in found if operation.label not in ENDLESS | FORMS]


def pick_strategies(shard: int, kind: Kind) -> list[tuple[str, Any]]:
    """What draws cases: good and bad ones for each route, or for a sample one of them, in turns."""
    pairs: list[tuple[Any, GenerationMode]] = []
    for number, operation in enumerate(all_operations()[shard::SHARDS]):
        modes = [(operation, GenerationMode.POSITIVE), (operation, GenerationMode.NEGATIVE)]
        pairs += modes if number % 2 else modes[::-1]
    few = FEW_ROUTES // SHARDS if kind == "postgres" else len(pairs) // 2
    return [(each.label, each.as_strategy(generation_mode=mode)) for each, mode in effort.pick(pairs, sample=few)]


def draw_cases(strategy: Any, count: int) -> list[Any]:
    cases: list[Any] = []

    @settings(max_examples=count, suppress_health_check=list(HealthCheck))
    @given(strategy)
    def draw(case: Any) -> None:
        cases.append(case)

    with contextlib.suppress(Unsatisfiable):  # where nothing is asked for, nothing can be wrong
        draw()
    return cases


def requests(world: World, case: Any) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """As it was made, and once more about something that is there."""
    more: dict[str, Any] = {"headers": _headers(case)}
    if not isinstance(case.body, NotSet):
        more["content"] = case.body if isinstance(case.body, bytes) else json.dumps(case.body).encode()
        more["headers"]["content-type"] = "application/json"
    if case.query:
        more["params"] = {str(name): _text(value) for name, value in case.query.items()}
    yield case.method, case.formatted_path, more
    yield case.method, _about_something(world, case.operation.path), more


def _headers(case: Any) -> dict[str, Any]:
    """What it brings along; who asks is ours to say."""
    ours = {"authorization", "host", "origin", "content-type", "content-length", "cookie", "transfer-encoding"}
    pairs = {str(name): str(value) for name, value in (case.headers or {}).items() if str(name).lower() not in ours}
    return {name: value.encode() for name, value in pairs.items() if re.fullmatch(r"[!#-'*+.^-~\w-]+", name, re.A)}


def _text(value: Any) -> Any:
    return value if isinstance(value, str | int | float | list) and not isinstance(value, bool) else str(value)


def _about_something(world: World, path: str) -> str:
    noun = next(iter(path.split("/")[2:]), "")
    ids = {**REAL, "messages": world.messages["owner"]["id"], "runs": world.runs["team"]}
    known = {"id": ids.get(noun, "x"), "space_id": "team", "member_id": "psn_otto", "label": "mood", "emoji": "👍"}
    known |= {"call_id": world.call_id, "run_id": world.runs["team"], "name": ids["tools"]}
    return re.sub(r"\{(\w+)\}", lambda found: quote(known.get(found.group(1), "x"), safe=""), path)


@pytest.mark.proves("N5")
@pytest.mark.parametrize("shard", range(SHARDS))
async def test_no_request_that_openapi_can_think_of_makes_us_fail(world: World, shard: int) -> None:
    sent = 0
    kind: Kind = "postgres" if world.office.office.store.shared else "sqlite"
    count = CASES[kind] if effort.EVERYTHING or effort.SLICE is not None else FEW_CASES
    strategies = pick_strategies(shard, kind)
    callers = [world.office, world["pia"], Api(world.office.office, None)]
    waiting: list[tuple[str, Any]] = []
    for label, strategy in strategies:
        for case in draw_cases(strategy, count):
            for method, path, more in requests(world, case):
                # Mostly as the owner: the others do not get far.
                caller = callers[0] if sent % 4 else callers[sent // 4 % 3]
                waiting.append((label, ask(caller, method, path, more)))
                sent += 1
                if len(waiting) == AT_ONCE:
                    await judge(waiting)
    await judge(waiting)
    assert sent >= 2 * count * sum(label not in WITHOUT_INPUT for label, _ in strategies)
    assert (await world.office.get("/me"))["kind"] == "person"


@pytest.mark.proves("N5")
def test_the_full_run_sends_twenty_thousand_requests() -> None:
    routes = {operation.label for operation in all_operations()} - WITHOUT_INPUT
    modes = sends = 2
    assert len(routes) * modes * sends * sum(CASES.values()) >= REQUESTS


async def ask(caller: Api, method: str, path: str, more: dict[str, Any]) -> httpx.Response | None:
    try:
        return await caller.http.request(method, f"http://office{path}", **more)
    except httpx.InvalidURL:
        return None  # cannot be written down, so cannot be sent


async def judge(waiting: list[tuple[str, Any]]) -> None:
    labels = [label for label, _ in waiting]
    answers = await asyncio.gather(*(asked for _, asked in waiting))
    waiting.clear()
    for label, answer in zip(labels, answers, strict=True):
        if answer is None:
            continue
        told = (label, str(answer.request.url), answer.request.content, dict(answer.request.headers), answer.text)
        assert answer.status_code < 500, told
        assert "Traceback" not in answer.text, told
        assert "bullpen/" not in answer.text, told
        if answer.status_code >= 400 and answer.status_code != 421:
            assert set(answer.json()) == {"error"}, told
