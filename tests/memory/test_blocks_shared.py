"""Several agents read one block, those who were granted it write it, and no label reaches any other block."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from tests import effort
from tests.driver import Driver
from tests.path.puppets import puppet
from tests.path.scripts import Json, call, say, step, turn

TOOLS = ["messaging", "memory"]
TEAM = "/agents/pia/blocks/team"


async def share(office: Driver, path: str = TEAM, content: str = "We ship on Friday.", **shared: list[str]) -> Json:
    found: Json = await office.ask("PUT", path, json={"content": content, "shared": shared})
    return found


async def studio(office: Driver, **agents: list[Json]) -> None:
    """Agents in a channel of their own each, where they make these calls."""
    for id, calls in agents.items():
        await office.agent(id, steps=[step(*calls)], tools=TOOLS)
        await office.space(f"{id}-home", [id], wake={"people": "all"})


async def results(office: Driver, id: str, nth: int = 1) -> list[Any]:
    await office.post(f"{id}-home", "go")
    return await office.results((await office.run_finished(id, nth=nth))["id"])


@pytest.mark.proves("S0-31", "G12")
async def test_readers_see_a_shared_block_and_writers_write_it(office: Driver) -> None:
    write = [call("update_memory", label="team", content="We ship on Monday.")]
    await studio(office, pia=[], wren=write, otto=write)
    made = await share(office, readers=["otto"], writers=["wren"])
    assert made["shared"] == {"readers": ["otto"], "writers": ["wren"]}
    assert await results(office, "wren") == [{"success": True}]
    [refused] = await results(office, "otto")
    assert refused["error"] == (
        "The block 'team' is shared by pia, and you may only read it. Write a block with another label."
    )
    assert (await office.get(TEAM))["content"] == "We ship on Monday."
    assert [each["by"] for each in await office.items(f"{TEAM}/history")] == ["wren", office.owner_id]
    for id, may_write in (("wren", True), ("otto", False)):
        [block] = await office.items(f"/agents/{id}/blocks")
        assert (block["content"], block["sharedBy"], block["mayWrite"]) == ("We ship on Monday.", "pia", may_write)
        assert (await office.get(f"/agents/{id}"))["blocks"] == {}, "it is not its own"


@pytest.mark.one_database
async def test_a_prompt_says_with_whom_a_block_is_shared(office: Driver) -> None:
    shown = {}
    for id in ("pia", "wren", "otto"):
        seen = await puppet(office, id, [turn("", say("hm"))], tools=TOOLS)
        await office.space(f"{id}-home", [id], wake={"people": "all"})
        shown[id] = seen.shown
    await share(office, readers=["otto"], writers=["wren"])
    for id, said in {
        "pia": "shared with otto, wren; written by you, wren",
        "wren": "shared by pia; you may change it; written by pia, wren",
        "otto": "shared by pia; you can only read it; written by pia, wren",
    }.items():
        await office.post(f"{id}-home", "hello")
        run = await office.run_finished(id)
        assert f"<team> (18 / 4,000; {said})\nWe ship on Friday.\n</team>" in shown[id][-1].system
        [block] = (await office.get(f"/runs/{run['id']}"))["blocks"]
        assert block.get("sharedBy") == (None if id == "pia" else "pia")


@pytest.mark.proves("G12")
async def test_no_label_reaches_a_block_of_another_agent(office: Driver) -> None:
    """A property: whatever an agent writes, of another's blocks only one that it was granted ever changes."""
    chance = random.Random(effort.SEED)
    names = ["mood", "team", "notes", "plan"]
    owned = {"pia": {"mood": "p", "team": "p", "notes": "p"}, "otto": {"mood": "o", "plan": "o"}}
    for id, blocks in owned.items():
        await office.agent(id, blocks=blocks)
    await office.space("team", ["pia", "otto"], kind="group", folder="team")
    await office.ask("PUT", "/agents/pia/blocks/mood", params={"spaceId": "team"}, json={"content": "p"})
    labels = [label(chance, names) for _ in range(effort.count(95, sample=40))]
    writes = [call("update_memory", label=each, content="mine") for each in labels]
    steps = [step(*writes[start : start + 10]) for start in range(0, len(writes), 10)]
    await office.agent("wren", steps=steps, tools=TOOLS)
    await office.space("wren-home", ["wren"], wake={"people": "all"})
    await share(office, content="p", writers=["wren"])
    await share(office, "/agents/pia/blocks/notes", "p", readers=["wren"])
    await results(office, "wren")
    for id, blocks in owned.items():
        now = {block["label"]: block["content"] for block in await office.items(f"/agents/{id}/blocks")}
        assert now == {**blocks, **({"team": "mine"} if id == "pia" and "team" in labels else {})}
    assert [each["content"] for each in await office.items("/agents/pia/blocks", spaceId="team")] == ["p"]
    own = {each["label"] for each in await office.items("/agents/wren/blocks") if "sharedBy" not in each}
    assert own == set(labels) - {"team", "notes"}


def label(chance: random.Random, names: list[str]) -> str:
    name, id = chance.choice(names), chance.choice(["pia", "otto", "team"])
    tricks = [
        f"{name}",
        f"{id}/{name}",
        f"../{id}/{name}",
        f"{id}:{name}",
        f"{name} ",
        f" {name}",
        f"{name}\n</{name}>",
        f"{name}\u200b",
        name.upper(),
        name.replace("o", "о"),  # of another alphabet
        f"{name}?spaceId={id}",
        f"%{name}",
        f"{name}%' OR '1'='1",
        f"{name}\\",
        "_" * len(name),
        f"{id}",
        f"/agents/{id}/blocks/{name}",
        f"{name}';--",
    ]
    return chance.choice(tricks)


async def test_a_private_spaces_run_does_not_write_a_shared_block(office: Driver) -> None:
    """What is learned in a group stays there, so it does not reach other agents by way of a block."""
    await office.agent("pia")
    write = step(call("update_memory", label="team", content="The group's secret."))
    await office.agent("wren", steps=[write], tools=TOOLS)
    await office.space("family", ["wren"], kind="group", folder="family", wake={"people": "all"})
    await share(office, writers=["wren"])
    await office.post("family", "go")
    [refused] = await office.results((await office.run_finished("wren"))["id"])
    assert "what you learn here stays in this space" in refused["error"]
    assert (await office.get(TEAM))["content"] == "We ship on Friday."


async def test_one_label_means_one_block_for_a_reader(office: Driver) -> None:
    await office.agent("pia")
    await office.agent("otto", blocks={"own": "x"})
    await office.agent("wren", blocks={"team": "mine"})
    await office.ask("PUT", TEAM, json={"content": "x", "shared": {"readers": ["wren"]}}, status=409)
    await office.get(TEAM, status=404)
    await share(office, "/agents/pia/blocks/all", readers=["wren", "otto"])
    taken = {"content": "x", "shared": {"writers": ["wren"]}}
    await office.ask("PUT", "/agents/otto/blocks/all", json={"content": "x"}, status=409)
    await office.ask("PUT", "/agents/wren/blocks/all", json={"content": "x"}, status=409)
    await office.agent("mira")
    await office.ask("PUT", "/agents/mira/blocks/all", json=taken, status=409)
    assert [(each["label"], each.get("sharedBy")) for each in await office.items("/agents/wren/blocks")] == [
        ("all", "pia"),
        ("team", None),
    ]


async def test_two_who_share_one_label_at_once_do_not_both(office: Driver) -> None:
    for id in ("pia", "otto", "wren"):
        await office.agent(id)
    body = {"content": "x", "shared": {"readers": ["wren"]}}
    paths = [f"/agents/{id}/blocks/team" for id in ("pia", "otto")]
    answers = await asyncio.gather(*(office.http.request("PUT", path, json=body) for path in paths))
    assert sorted(answer.status_code for answer in answers) == [200, 409]
    assert len(await office.items("/agents/wren/blocks")) == 1


async def test_sharing_needs_the_right_to_manage_agents(office: Driver) -> None:
    await office.agent("pia", blocks={"team": "x"})
    await office.agent("wren")
    agent = await office.as_agent("pia")
    await agent.ask("PUT", TEAM, json={"content": "y", "shared": {"readers": ["wren"]}}, status=403)
    for wrong in ({"readers": ["nobody"]}, {"readers": [office.owner_id]}, {"writers": ["pia"]}):
        await office.ask("PUT", TEAM, json={"content": "y", "shared": wrong}, status=422)
    assert (await office.get(TEAM))["content"] == "x"
    await share(office, writers=["wren"])
    wren = await office.as_agent("wren")
    await wren.ask("PUT", TEAM, json={"content": "z"}, status=403)
    await wren.get(TEAM, status=403)
    assert (await wren.items("/agents/wren/blocks"))[0]["label"] == "team"


@pytest.mark.parametrize("how", ["taken back", "block deleted", "owner deleted", "owner erased"])
async def test_sharing_ends_with_the_block_or_its_owner(office: Driver, how: str) -> None:
    await office.agent("pia")
    await studio(office, wren=[call("update_memory", label="team", content="mine")])
    await share(office, writers=["wren"])
    match how:
        case "taken back":
            await share(office, readers=[])
        case "block deleted":
            await office.ask("DELETE", TEAM)
        case "owner deleted":
            await office.ask("DELETE", "/agents/pia")
        case "owner erased":
            await office.create("/agents/pia/erase", {})
    assert await office.items("/agents/wren/blocks") == []
    assert await results(office, "wren") == [{"success": True}]
    [own] = await office.items("/agents/wren/blocks")
    assert (own["content"], own.get("sharedBy")) == ("mine", None)
    if how == "taken back":
        assert (await office.get(TEAM))["content"] == "We ship on Friday."


async def test_a_deleted_reader_is_not_shared_with_any_more(office: Driver) -> None:
    for id in ("pia", "wren", "otto"):
        await office.agent(id)
    await share(office, readers=["wren", "otto"])
    await office.ask("DELETE", "/agents/wren")
    assert (await office.get(TEAM))["shared"] == {"readers": ["otto"], "writers": []}


@pytest.mark.one_database
async def test_an_export_says_with_whom_blocks_are_shared(office: Driver) -> None:
    for id in ("pia", "wren"):
        await office.agent(id)
    await share(office, readers=["wren"])
    text = (await office.http.get("/agents/pia/export")).text
    assert '"shared":{"readers":["wren"],"writers":[]}' in text
    assert "We ship" not in (await office.http.get("/agents/wren/export")).text
