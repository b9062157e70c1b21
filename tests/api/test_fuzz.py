"""Whatever is posted gets an answer, never a failure of ours."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import effort
from tests.api.bodies import GOOD, address, bodies
from tests.feed.worlds import World

AT_ONCE = 12  # bodies
ROUNDS = 100

text = st.text(st.characters(codec="utf-8"), max_size=40)
scalars = st.none() | st.booleans() | st.integers() | st.floats() | text
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4), max_leaves=12
)


def likely(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Something like what is asked for, mostly: what is wholly wrong does not get far."""
    names = list(schema["properties"])
    return st.dictionaries(st.sampled_from(names) | text, values, max_size=6)


def made_for(route: str, schema: dict[str, Any]) -> st.SearchStrategy[tuple[str, Any]]:
    mostly_good = likely(schema).map(lambda odd: {**GOOD[route], **odd})
    return st.tuples(st.just(route), st.just(GOOD[route]) | mostly_good | likely(schema) | values)


def something() -> st.SearchStrategy[tuple[str, Any]]:
    return st.one_of([made_for(route, schema) for route, schema in bodies()])


@pytest.mark.proves("N5")
async def test_any_body_gets_an_answer_that_is_not_our_failure(world: World) -> None:
    rounds: list[list[tuple[str, Any]]] = []

    @settings(max_examples=effort.count(ROUNDS, sample=8), suppress_health_check=list(HealthCheck))
    @given(st.lists(something(), min_size=AT_ONCE, max_size=AT_ONCE))
    def draw(bodies: list[tuple[str, Any]]) -> None:
        rounds.append(bodies)

    draw()
    statuses = set()
    for round in rounds:
        for response in await asyncio.gather(*(send(world, route, body) for route, body in round)):
            assert response.status_code < 500, (response.request.url, response.request.content, response.text)
            assert "Traceback" not in response.text
            statuses.add(response.status_code)
    assert {201, 422} <= statuses, "some were good, some were bad"
    assert (await world.office.get("/me"))["kind"] == "person"


async def send(world: World, route: str, body: Any) -> Any:
    method, path = address(route, world)
    content = encoded(body)
    return await world.office.http.request(method, path, content=content, headers={"Content-Type": "application/json"})


def encoded(body: Any) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass")
