"""Lists: how many, from where, in which order; and how things are written on the wire."""

from __future__ import annotations

import re
from typing import Any

import pytest

from bullpen import ids
from tests.driver import Api, Driver, Json, Offices
from tests.feed.worlds import World

TIME = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z\Z")
ID = re.compile(r"[a-z]{3,4}_[0-9a-v]{26}\Z")


@pytest.fixture
async def office(offices: Offices) -> Driver:
    return await offices.open(drive=False, watch=False)


async def pages(api: Api, path: str, limit: int, **params: Any) -> list[list[Json]]:
    """All pages of a list; a page that names no next one is the last."""
    found: list[list[Json]] = []
    cursor: dict[str, str] = {}
    while True:
        page = await api.get(path, params={"limit": limit, **params, **cursor})
        assert set(page) <= {"items", "next"}
        assert len(page["items"]) <= limit
        found.append(page["items"])
        if "next" not in page:
            return found
        cursor = {"cursor": page["next"]}


@pytest.mark.one_database
async def test_lists_take_a_limit_from_one_to_two_hundred(world: World) -> None:
    lists = ("/agents", "/spaces", "/runs", "/tokens", "/spaces/team/messages", "/agents/ada/inbox")
    for path in (*lists, f"/runs/{world.runs['team']}/messages"):
        for limit, status in (
            ("0", 422),
            ("-1", 422),
            ("1", 200),
            ("200", 200),
            ("201", 422),
            ("x", 422),
            ("1.5", 422),
        ):
            answer = await world.office.ask("GET", path, params={"limit": limit}, status=status)
            assert ("limit" in answer["error"]["fields"]) if status == 422 else len(answer["items"]) <= int(limit)


async def test_lists_are_read_page_by_page_newest_first(world: World) -> None:
    office = world.office
    for number in range(4):
        await office.agent(f"agent{number}", steps=[])
        await office.space(f"space{number}")
        await office.create("/tokens", {"name": f"token {number}", "agentId": "ada"})
    for path in ("/agents", "/spaces", "/tokens", "/runs"):
        whole = (await pages(office, path, 200))[0]
        assert len(whole) >= 3 - (path == "/runs")
        # Runs that began at once have a start that need not be in the order of their ids, which rise.
        newest_first = [item["id"] if path == "/runs" else item["createdAt"] for item in whole]
        assert newest_first == sorted(newest_first, reverse=True)
        for limit in (1, 2, 3, len(whole)):
            assert [item for page in await pages(office, path, limit) for item in page] == whole, (path, limit)


async def test_lists_longer_than_fifty_come_in_pages_of_fifty(office: Driver) -> None:
    made = [(await office.agent(f"agent{number}", steps=[]))["id"] for number in range(53)]
    first = await office.get("/agents")
    assert [agent["id"] for agent in first["items"]] == made[:2:-1]
    rest = await office.get("/agents", params={"cursor": first["next"]})
    assert [agent["id"] for agent in rest["items"]] == made[2::-1]
    assert "next" not in rest


async def test_paging_runs_skips_hidden_ones_without_losing_visible_ones(world: World) -> None:
    everything = {run["id"] for page in await pages(world["ada"], "/runs", 1) for run in page}
    asking = (await world.office.get(f"/pending/{world.call_id}"))["runId"]
    assert everything == {*world.runs.values(), asking}
    seen = {name: await pages(world[name], "/runs", 1) for name in ("owner", "pia", "otto")}
    ids_seen = {name: {run["id"] for page in found for run in page} for name, found in seen.items()}
    assert ids_seen == {
        "owner": {world.runs["team"], asking, world.runs["nowhere"]},
        "pia": {world.runs["team"], asking, world.runs["den"]},
        "otto": set(),
    }


async def test_runs_are_found_by_agent_space_and_status(world: World) -> None:
    office = world.office
    assert {run["id"] for run in await office.items("/runs", agentId="ada")} >= {world.runs["team"]}
    assert await office.items("/runs", agentId="ping") == []
    asking = (await office.get(f"/pending/{world.call_id}"))["runId"]
    assert [run["id"] for run in await office.items("/runs", spaceId="team")] == [asking, world.runs["team"]]
    assert await office.items("/runs", spaceId="den") == [], "the owner is not in it"
    assert await office.items("/runs", status="thinking") == []
    assert len(await office.items("/runs", status="completed")) == 3


async def test_messages_are_listed_in_order_before_and_after_a_number(office: Driver) -> None:
    await office.space("hall")
    for n in range(1, 8):
        await office.post("hall", f"m{n}")

    async def numbers(**params: int) -> list[int]:
        return [m["seq"] for m in await office.items("/spaces/hall/messages", **params)]

    assert await numbers() == [1, 2, 3, 4, 5, 6, 7]
    assert await numbers(limit=3) == [5, 6, 7]
    assert await numbers(limit=3, before=5) == [2, 3, 4]
    assert await numbers(limit=3, after=2) == [3, 4, 5]
    assert await numbers(after=2, before=5) == [3, 4]
    assert await numbers(before=1) == await numbers(after=7) == []
    assert await numbers(before=2**62, limit=1) == [7]
    back = await office.get("/spaces/hall/messages", params={"limit": 3})
    assert await numbers(limit=3, before=int(back["next"])) == [2, 3, 4]
    on = await office.get("/spaces/hall/messages", params={"limit": 3, "after": 0})
    assert await numbers(limit=3, after=int(on["next"])) == [4, 5, 6]


async def test_a_runs_journal_is_paged_in_order(world: World) -> None:
    path = f"/runs/{world.runs['team']}/messages"
    whole = await world.office.items(path)
    assert len(whole) >= 4
    assert [item for page in await pages(world.office, path, 2) for item in page] == whole


# ── as it is written ────────────────────────────────────────────────────────────────────────────────────────────────


def every_key(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [*value, *(key for inner in value.values() for key in every_key(inner))]
    return [key for inner in value for key in every_key(inner)] if isinstance(value, list) else []


@pytest.mark.one_database
async def test_answers_use_camel_case_utc_times_and_prefixed_ids(world: World) -> None:
    office = world.office
    answers: dict[str, Json] = {
        "spc": await office.create("/spaces", {"name": "of no id"}),
        "agt": await office.create("/agents", {"name": "Of no id", "model": "script:echo"}),
        "msg": await office.post("team", "x", clientMessageId="c-1"),
        "run": await office.get(f"/runs/{world.runs['team']}"),
        "tok": (await office.items("/tokens"))[0],
        "psg": await office.create("/agents/ada/passages", {"content": "fact"}),
        "itm": {**(await office.create("/agents/ada/trigger", {"serviceName": "x"}))},
        "rmg": (await office.items(f"/runs/{world.runs['team']}/messages"))[0],
    }
    answers["itm"]["id"] = answers["itm"].pop("itemId")
    for prefix, answer in answers.items():
        assert ID.match(answer["id"]), answer
        assert answer["id"].startswith(f"{prefix}_")
        assert not [key for key in every_key(answer) if "_" in key]
        for key, value in answer.items():
            if key in ("at",) or key.endswith("At"):
                assert TIME.match(value), (key, value)
    for entry in await office.items(f"/runs/{world.runs['team']}/messages"):
        assert "callId" not in entry or entry["callId"].startswith("call_")


@pytest.mark.one_database
async def test_both_spellings_are_understood_and_one_is_answered(office: Driver) -> None:
    await office.space("hall")
    camel = await office.post("hall", "a", clientMessageId="one")
    snake = await office.create("/spaces/hall/messages", {"text": "b", "client_message_id": "two"})
    assert (camel["clientMessageId"], snake["clientMessageId"]) == ("one", "two")
    limits = {"max_steps": 3, "maxMessages": 2}
    agent = await office.create("/agents", {"name": "A", "model": "script:echo", "limits": limits, "auto_enter": False})
    assert (agent["limits"]["maxSteps"], agent["limits"]["maxMessages"], agent["autoEnter"]) == (3, 2, False)


@pytest.mark.one_database
async def test_keys_in_user_data_are_never_renamed(office: Driver) -> None:
    await office.agent("ada", steps=[])
    odd = {"snake_case": 1, "camelCase": {"deep_er": 2}, "Weird Key": 3}
    passage = await office.create("/agents/ada/passages", {"content": "fact", "metadata": odd})
    assert passage["metadata"] == odd
    await office.create("/agents/ada/trigger", {"serviceName": "x", "payload": odd})
    assert (await office.items("/agents/ada/inbox"))[0]["payload"]["payload"] == odd


def test_new_ids_sort_in_creation_order() -> None:
    made = [ids.message() for _ in range(2_000)]
    assert made == sorted(made)
    assert len(set(made)) == len(made)


async def test_a_space_counts_your_unread_messages_and_your_mentions(world: World) -> None:
    office, pia = world.office, world["pia"]
    read = (await pia.get("/spaces/team"))["lastSeq"]
    await pia.create("/spaces/team/read", {"seq": read})
    for text in ("for nobody", "for @pia", "for @PSN_PIA, really", "for @piano", "@pia-not"):
        await office.post("team", text)
    gone = await office.post("team", "@pia oops")
    await office.ask("DELETE", f"/messages/{gone['id']}")
    space = await pia.get("/spaces/team")
    assert (space["unread"], space["mentions"], space["readSeq"], space["lastSeq"]) == (5, 2, read, read + 6)
    assert space == next(each for each in await pia.items("/spaces") if each["id"] == "team")
    assert (await pia.create("/spaces/team/read", {"seq": read + 2}))["mentions"] == 1
    assert (await pia.create("/spaces/team/read", {"seq": 2**62}))["unread"] == 0
    assert (await pia.create("/spaces/team/read", {"seq": 0}))["readSeq"] == 0, "it may go back"
    await office.post("team", "one more")
    await pia.create("/spaces/team/messages", {"text": "answered"})
    assert (await pia.get("/spaces/team"))["unread"] == 0
