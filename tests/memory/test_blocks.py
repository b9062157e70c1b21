"""A block keeps what it was: each change has a version, who made it, and why; any of them can be put back."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import orjson
import pytest

from tests import effort
from tests.driver import Api, Driver
from tests.feed.streams import following
from tests.hooks.calling import made, path_of, ring
from tests.injection.obeying import bare, inside
from tests.path.puppets import puppet
from tests.path.scripts import Json, call, say, step, turn

TOOLS = ["messaging", "memory"]
MOOD = "/agents/ada/blocks/mood"


async def put(office: Api, content: str, path: str = MOOD, **more: Any) -> Json:
    found: Json = await office.ask("PUT", path, json={"content": content, **more})
    return found


async def keeping(office: Driver, *steps: Json, **fields: Any) -> Json:
    """The run of Ada in a channel, in which she made these calls."""
    await office.agent("ada", steps=list(steps), tools=TOOLS, **fields)
    await office.space("lab", ["ada"], wake={"people": "all"})
    await office.post("lab", "go")
    return await office.run_finished("ada")


async def admin(office: Driver) -> Api:
    anna = await office.create("/people", {"name": "Anna", "role": "admin"})
    token = await office.create("/tokens", {"name": "Anna", "personId": anna["id"]})
    return Api(office.office, token["token"])


# ── what it was ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.proves("S0-30", "S0-32", "N4")
async def test_every_change_keeps_who_when_run_and_why(office: Driver) -> None:
    change = call("update_memory", label="mood", content="glad", reason="The poster is sold.")
    run = await keeping(office, step(change), blocks={"mood": "calm"})
    await put(office, "busy", reason="So says the plan.")
    agent = await office.as_agent("ada")
    await agent.ask("DELETE", MOOD)
    await office.ask("POST", f"{MOOD}/revert", json={"version": 2})
    versions = await office.items(f"{MOOD}/history")
    assert [(each["version"], each["content"], each["by"], each["byKind"]) for each in versions] == [
        (5, "glad", office.owner_id, "person"),
        (4, "", "ada", "agent"),
        (3, "busy", office.owner_id, "person"),
        (2, "glad", "ada", "agent"),
        (1, "calm", office.owner_id, "person"),
    ]
    why = [each.get("reason") for each in versions]
    assert why == ["Back to version 2.", None, "So says the plan.", "The poster is sold.", None]
    assert [each.get("runId") for each in versions] == [None, None, None, run["id"], None]
    assert [each["deleted"] for each in versions] == [False, True, False, False, False]
    tokens = {token["id"] for token in await office.items("/tokens")}
    assert versions[1]["tokenId"] in tokens
    assert sorted(each["at"] for each in versions) == [each["at"] for each in versions[::-1]]


@pytest.mark.one_database
async def test_a_diff_says_how_two_versions_differ(office: Driver) -> None:
    await office.agent("ada", blocks={"mood": "calm\nwarm"})
    await put(office, "calm\ncold")
    found = await office.get(f"{MOOD}/history", params={"from": 1, "to": 2})
    assert found["diff"].splitlines() == [
        "--- version 1",
        "+++ version 2",
        "@@ -1,2 +1,2 @@",
        " calm",
        "-warm",
        "+cold",
    ]
    await office.ask("GET", f"{MOOD}/history", params={"from": 1}, status=422)
    await office.ask("GET", f"{MOOD}/history", params={"from": 1, "to": 9}, status=404)


@pytest.mark.one_database
async def test_history_is_read_page_by_page(office: Driver) -> None:
    await office.agent("ada", blocks={"mood": "0"})
    for number in range(1, 5):
        await put(office, str(number))
    first = await office.get(f"{MOOD}/history", params={"limit": 3})
    rest = await office.get(f"{MOOD}/history", params={"limit": 3, "cursor": first["next"]})
    assert [each["content"] for each in first["items"] + rest["items"]] == ["4", "3", "2", "1", "0"]


@pytest.mark.proves("N4")
async def test_reverting_restores_each_version_exactly(office: Driver) -> None:
    """A property: whatever the texts are, and in whatever order they are put back."""
    chance = random.Random(effort.SEED)
    letters = "aé\n\t ß漢🎧<>&\"'\\ \r"
    texts = ["".join(chance.choices(letters, k=chance.randrange(60))) for _ in range(effort.count(40, sample=8))]
    await office.agent("ada", blocks={"mood": "first"})
    kept = {}
    for number, text in enumerate(texts):
        block = await put(office, text, description=f"about {number}")
        kept[block["version"]] = (text, f"about {number}")
    for version in chance.sample(sorted(kept), len(kept)):
        block = await office.create(f"{MOOD}/revert", {"version": version}, status=200)
        assert (block["content"], block["description"]) == kept[version]
        now = await office.get(MOOD)
        assert (now["content"], now["description"]) == kept[version]


@pytest.mark.one_database
async def test_the_same_words_again_are_no_change(office: Driver) -> None:
    await office.agent("ada", blocks={"mood": "calm"})
    assert (await put(office, "calm"))["version"] == 1
    assert (await put(office, "calm", description="How she feels."))["version"] == 2
    assert (await put(office, "calm", description="How  she\nfeels."))["version"] == 2
    assert len(await office.items(f"{MOOD}/history")) == 2


@pytest.mark.one_database
async def test_a_block_keeps_its_newest_two_hundred_versions(office: Driver) -> None:
    await office.agent("ada", blocks={"mood": "0"})
    for number in range(1, 203):
        await put(office, str(number))
    versions = await office.items(f"{MOOD}/history", limit=200)
    assert [each["version"] for each in versions] == list(range(203, 3, -1))
    assert "next" not in await office.get(f"{MOOD}/history", params={"limit": 200, "cursor": 4})
    await office.ask("POST", f"{MOOD}/revert", json={"version": 3}, status=404)


async def test_changes_at_once_each_get_a_version(office: Driver) -> None:
    await office.agent("ada", blocks={"mood": "0"})
    await asyncio.gather(*(put(office, str(number)) for number in range(1, 9)))
    versions = await office.items(f"{MOOD}/history")
    assert [each["version"] for each in versions] == list(range(9, 0, -1))
    assert {each["content"] for each in versions} == {str(number) for number in range(9)}
    assert (await office.get(MOOD))["content"] == versions[0]["content"]


async def test_a_deleted_block_comes_back_with_its_history(office: Driver) -> None:
    await office.agent("ada", blocks={"mood": "calm"})
    await office.ask("DELETE", MOOD)
    await office.get(MOOD, status=404)
    assert await office.items("/agents/ada/blocks") == []
    await office.ask("DELETE", MOOD, status=404)
    await office.ask("POST", f"{MOOD}/revert", json={"version": 2}, status=422)
    assert (await office.create(f"{MOOD}/revert", {"version": 1}, status=200))["version"] == 3
    assert (await office.get("/agents/ada"))["blocks"] == {"mood": "calm"}


async def test_a_block_is_forgotten_with_all_it_was(office: Driver) -> None:
    await office.agent("ada", blocks={"mood": "calm"})
    await put(office, "a secret")
    agent = await office.as_agent("ada")
    await agent.ask("DELETE", MOOD, params={"history": "true"}, status=403)
    await office.ask("DELETE", MOOD, params={"history": "true"})
    await office.get(f"{MOOD}/history", status=404)
    assert (await put(office, "new"))["version"] == 1


@pytest.mark.one_database
async def test_only_some_deleted_blocks_can_be_brought_back(office: Driver) -> None:
    await office.agent("ada")
    for number in range(52):
        await put(office, "x", f"/agents/ada/blocks/b{number}")
        await office.ask("DELETE", f"/agents/ada/blocks/b{number}")
    await office.get("/agents/ada/blocks/b1/history", status=404)
    assert len(await office.items("/agents/ada/blocks/b2/history")) == 2


# ── how long it may be ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.one_database
async def test_too_long_a_text_is_refused_with_both_numbers(office: Driver) -> None:
    calls = [
        call("update_memory", label="mood", content="x" * 4001),
        call("update_memory", label="new", content="y" * 5),
    ]
    run = await keeping(office, step(*calls), blocks={"mood": "calm"})
    refused, done = await office.results(run["id"])
    assert refused["error"] == (
        "This is 4,001 characters, and the block 'mood' holds 4,000. Nothing was changed. "
        "Shorten it, or move a part of it to another block."
    )
    assert done == {"success": True}
    answer = await office.ask("PUT", MOOD, json={"content": "x" * 11, "limit": 10}, status=422)
    assert answer["error"]["fields"] == {"content": "11 characters, at most 10"}
    assert (await office.get(MOOD))["content"] == "calm"
    await put(office, "x" * 4001, limit=4001)
    await office.ask("PUT", MOOD, json={"content": "x", "limit": 5})
    answer = await office.ask("POST", f"{MOOD}/revert", json={"version": 2}, status=422)
    assert "4,001 characters" in answer["error"]["message"]


@pytest.mark.one_database
async def test_an_agent_cannot_raise_its_own_limit(office: Driver) -> None:
    await office.agent("ada", blocks={"mood": "calm"})
    agent = await office.as_agent("ada")
    await agent.ask("PUT", MOOD, json={"content": "x", "limit": 5000}, status=403)
    assert (await put(agent, "x", limit=50))["limit"] == 50


@pytest.mark.one_database
async def test_a_long_block_of_a_definition_keeps_its_length(office: Driver) -> None:
    await office.agent("ada", blocks={"mood": "x" * 5000})
    assert (await office.get(MOOD))["limit"] == 5000
    await put(office, "y" * 5000)


@pytest.mark.one_database
async def test_an_agent_has_at_most_a_hundred_blocks(office: Driver) -> None:
    await office.agent("ada", blocks={f"b{number}": "x" for number in range(100)})
    await office.ask("PUT", MOOD, json={"content": "x"}, status=409)
    await put(office, "y", "/agents/ada/blocks/b7")


# ── what the model sees of it ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.one_database
async def test_the_prompt_shows_the_description_and_both_numbers(office: Driver) -> None:
    ada = await puppet(office, "ada", [turn("", say("hm"))], tools=TOOLS)
    await put(office, "x" * 1240, description="How you feel.")
    await office.space("lab", ["ada"], wake={"people": "all"})
    await office.post("lab", "hello")
    await office.run_finished("ada")
    assert f"<mood> (1,240 / 4,000) How you feel.\n{'x' * 1240}\n</mood>" in ada.shown[0].system


@pytest.mark.one_database
async def test_the_prompt_and_the_run_say_which_blocks_cost_what(office: Driver) -> None:
    run = await keeping(office, step(call("do_nothing")), blocks={"mood": "calm", "long": "words " * 100})
    await put(office, "glad")
    parts = {part["name"]: part for part in (await office.get("/agents/ada/prompt"))["parts"]}
    costs = {block["label"]: block for block in parts["memory"]["blocks"]}
    assert (costs["mood"]["version"], costs["long"]["version"]) == (2, 1)
    assert 0 < costs["mood"]["tokens"] < costs["long"]["tokens"] < parts["memory"]["tokens"]
    assert "blocks" not in parts["identity"]
    shown = (await office.get(f"/runs/{run['id']}"))["blocks"]
    assert [(block["label"], block["version"]) for block in shown] == [("long", 1), ("mood", 1)]
    request = await office.get(f"/runs/{run['id']}/steps/1/request")
    assert [part["blocks"] for part in request["parts"] if part["name"] == "memory"] == [shown]
    [message] = await office.messages("lab")
    [agent] = (await office.get(f"/messages/{message['id']}/why"))["agents"]
    assert agent["run"]["blocks"] == shown


@pytest.mark.one_database
async def test_members_do_not_learn_which_blocks_a_run_saw(office: Driver) -> None:
    maya, api = await office.person("Maya")
    run = await keeping(office, step(call("do_nothing")), blocks={"mood": "calm"})
    await office.create("/spaces/lab/members", {"memberId": maya})
    assert "blocks" not in await api.get(f"/runs/{run['id']}")
    [message] = await office.messages("lab")
    [agent] = (await api.get(f"/messages/{message['id']}/why"))["agents"]
    assert "blocks" not in agent["run"]


# ── text from outside ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.proves("H4")
async def test_putting_back_a_tainted_version_taints_again(office: Driver) -> None:
    remember = step(call("update_memory", label="mood", content="obey the build"))
    turns: list[Json] = [{"kind": "trigger", "steps": [remember]}, turn("", say("hm"))]
    seen = await puppet(office, "ada", turns, tools=TOOLS)
    await office.space("lab", ["ada"], wake={"people": "all"})
    await ring(office, path_of(await made(office)), "the build is red")
    await office.run_finished("ada")
    assert (await put(office, "calm"))["outside"] == []
    assert [each["outside"] for each in await office.items(f"{MOOD}/history")] == [[], ["hook:ci"]]
    await office.post("lab", "hello")
    assert (await office.run_finished("ada", nth=2))["outside"] == []
    back = await office.create(f"{MOOD}/revert", {"version": 1}, status=200)
    assert back["outside"] == ["hook:ci"], "whoever puts it back"
    await office.post("lab", "hello")
    assert (await office.run_finished("ada", nth=3))["outside"] == ["hook:ci"]
    assert inside(seen.shown[-1], "obey the build") == ["hook:ci"]
    assert "obey the build" not in bare(seen.shown[-1])


# ── who hears of it ─────────────────────────────────────────────────────────────────────────────────────────────────


async def test_only_owners_and_the_agent_hear_of_a_change(office: Driver) -> None:
    await office.agent("ada", blocks={"mood": "calm"})
    await office.agent("bo")
    id, maya = await office.person("Maya")
    await office.space("back", ["ada", id], private=True)
    callers = [await office.as_agent("ada"), await office.as_agent("bo"), maya]
    async with (
        following(office, callers[0]) as ada,
        following(office, callers[1]) as bo,
        following(office, maya) as hers,
    ):
        await put(office, "quite secret")
        event = await office.event("block_updated", lambda event: event["block"]["version"] == 2)
        assert event["agentId"] == "ada"
        assert event["block"] == {
            "label": "mood",
            "version": 2,
            "by": office.owner_id,
            "characters": 12,
            "limit": 4000,
        }
        assert "quite secret" not in orjson.dumps(office.events).decode(), "its words are asked for"
        await ada.until_type("block_updated")
        await office.ask("PUT", MOOD, params={"spaceId": "back"}, json={"content": "sly"})
        await office.event("block_updated", lambda event: event.get("spaceId") == "back")
        await office.ask("POST", "/agents/pause")
        for stream in (bo, hers):
            await stream.until_type("agents_paused")
            assert "block_updated" not in stream.types()


@pytest.mark.one_database
async def test_what_people_change_is_in_the_audit_log(office: Driver) -> None:
    await office.agent("ada", blocks={"mood": "calm"})
    await put(office, "a secret")
    await office.ask("POST", f"{MOOD}/revert", json={"version": 1})
    await office.ask("DELETE", MOOD)
    found = [row for row in await office.items("/audit") if row["action"].startswith("block.")]
    assert [row["action"] for row in found] == ["block.deleted", "block.reverted", "block.changed"]
    assert {row["objectId"] for row in found} == {"ada"}
    assert "a secret" not in str(found)


# ── for one space ───────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_spaces_own_block_has_its_own_history(office: Driver) -> None:
    await office.agent("ada", steps=[step(call("update_memory", label="mood", content="sly"))], tools=TOOLS)
    await office.space("team", ["ada"], kind="group", folder="team", wake={"people": "all"})
    await put(office, "calm", description="How you feel.", limit=5000)
    await office.post("team", "go")
    await office.run_finished("ada")
    own = await office.get(MOOD, params={"spaceId": "team"})
    assert (own["content"], own["description"], own["limit"], own["version"]) == ("sly", "How you feel.", 5000, 1)
    assert [block["content"] for block in await office.items("/agents/ada/blocks", spaceId="team")] == ["sly"]
    assert (await office.get(MOOD))["content"] == "calm"
    await office.ask("PUT", MOOD, params={"spaceId": "team"}, json={"content": "open"})
    assert len(await office.items(f"{MOOD}/history", spaceId="team")) == 2
    assert len(await office.items(f"{MOOD}/history")) == 1
    back = {"version": 1}
    assert (await office.ask("POST", f"{MOOD}/revert", params={"spaceId": "team"}, json=back))["content"] == "sly"
    assert '"content":"sly"' in (await office.http.get("/agents/ada/export")).text
    event = await office.event("block_updated", lambda event: event.get("spaceId") == "team", nth=3)
    assert event["block"]["version"] == 3


async def test_a_private_spaces_block_is_not_for_outsiders(office: Driver) -> None:
    """Whoever manages agents sees what an agent keeps for a space only if they may read the space."""
    anna = await admin(office)
    await office.agent("ada", steps=[step(call("update_memory", label="mood", content="sly"))], tools=TOOLS)
    await office.space("team", ["ada"], kind="group", folder="team", private=True, wake={"people": "all"})
    await office.post("team", "go")
    await office.run_finished("ada")
    for path in ("/agents/ada/blocks", MOOD, f"{MOOD}/history"):
        await anna.get(path, params={"spaceId": "team"}, status=404)
    await anna.ask("PUT", MOOD, params={"spaceId": "team"}, json={"content": "x"}, status=404)
    await anna.ask("POST", f"{MOOD}/revert", params={"spaceId": "team"}, json={"version": 1}, status=404)
    await anna.ask("DELETE", MOOD, params={"spaceId": "team"}, status=404)
    assert "sly" not in str(await anna.items("/agents/ada/blocks"))
    assert (await office.get(MOOD, params={"spaceId": "team"}))["content"] == "sly"


@pytest.mark.parametrize("across", [False, True])
async def test_a_block_from_a_private_space_stays_there_unless_allowed(office: Driver, across: bool) -> None:
    change = turn("change", step(call("update_memory", label="mood", content="sly")))
    memory = {"acrossSpaces": across}
    ada = await puppet(
        office, "ada", [change, turn("", say("hm"))], tools=TOOLS, blocks={"mood": "calm"}, memory=memory
    )
    await office.space("back", ["ada"], private=True, wake={"people": "all"})
    await office.space("lab", ["ada"], wake={"people": "all"})
    await office.post("back", "change")
    await office.run_finished("ada")
    for nth, (space, mood) in enumerate([("back", "sly"), ("lab", "sly" if across else "calm")], 2):
        await office.post(space, "hello")
        await office.run_finished("ada", nth=nth)
        assert f"\n{mood}\n</mood>" in ada.shown[-1].system
    assert (await office.get(MOOD))["content"] == ("sly" if across else "calm")
    await office.ask("PUT", MOOD, params={"spaceId": "lab"}, json={"content": "x"}, status=422)
