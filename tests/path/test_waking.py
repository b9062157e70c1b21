"""Who wakes: for people and for agents separately, by the space's policy. design.md §6.3."""

from __future__ import annotations

import pytest

from tests.driver import Api, Driver, Json, Offices
from tests.path.scripts import SILENT, call, step, turn

# What is said, and which policies it wakes Ada Lovelace (id ada) under, in a space whose trigger word is @helper.
MENTION, TRIGGER = {"all", "mention"}, {"all", "trigger"}
SAID: list[tuple[str, set[str]]] = [
    ("hello everyone", {"all"}),
    ("hello @ada", MENTION),
    ("@ADA, hello", MENTION),
    ("(@ada)", MENTION),
    ("@Ada Lovelace: hello", MENTION),
    ("hello @aDa loVELace!", MENTION),
    ("@ada's idea", MENTION),
    ("ada, hello", {"all"}),
    ("hello @adam and @ada_2 and @ada-b", {"all"}),
    ("write to bob@ada.example", {"all"}),
    ("@@ada", {"all"}),
    ("hello @helper", TRIGGER),
    ("Hello @HELPER!", TRIGGER),
    ("hello @helpers", {"all"}),
    ("helper, hello", {"all"}),
    ("@ada and @helper", {"all", "mention", "trigger"}),
]
POLICIES = ("all", "mention", "trigger", "none")


async def cast(office: Driver) -> Api:
    """Ada and Bo, who keep silent; and Bo's own voice, outside any run."""
    await office.agent("ada", name="Ada Lovelace", steps=SILENT)
    await office.agent("bo", steps=SILENT)
    return await office.as_agent("bo")


async def woken(office: Driver) -> dict[str, list[str]]:
    """Who ran in which space, once all is quiet."""
    await office.idle()
    found: dict[str, list[str]] = {}
    cursor: Json = {}
    while True:
        page = await office.get("/runs", params={"limit": 200, **cursor})
        for run in page["items"]:
            found.setdefault(run["spaceId"], []).append(run["agentId"])
        if "next" not in page:
            return {space: sorted(agents) for space, agents in found.items()}
        cursor = {"cursor": page["next"]}


async def awaited(office: Driver) -> set[tuple[str, str, str]]:
    """Who has what news in which space, in an office where nobody is driven."""
    found = set()
    for agent in ("ada", "bo"):
        items = await office.items(f"/agents/{agent}/inbox", limit=200)
        found |= {(agent, item["spaceId"], item["payload"]["text"]) for item in items}
    return found


@pytest.mark.parametrize("speaker", ["people", "agents"])
@pytest.mark.one_database
async def test_a_space_wakes_its_agents_as_its_policy_says(offices: Offices, speaker: str) -> None:
    office = await offices.open(drive=False)
    bo = await cast(office)
    speaking = office if speaker == "people" else bo
    silent = {"people": "none", "agents": "none"}
    expected = set()
    for policy in POLICIES:
        await office.space(policy, ["ada", "bo"], wake={**silent, speaker: policy}, trigger="@helper")
        for text, wakes in SAID:
            await speaking.create(f"/spaces/{policy}/messages", {"text": text})
            if policy in wakes:
                expected.add(("ada", policy, text))
                # Bo is a member too, is never mentioned here, and never wakes itself.
                if speaker == "people" and policy != "mention":
                    expected.add(("bo", policy, text))
    assert await awaited(office) == expected


DEFAULTS: list[tuple[Json, Json]] = [
    ({"kind": "channel"}, {"people": "mention", "agents": "mention"}),
    ({"kind": "group"}, {"people": "trigger", "agents": "none"}),
    ({"kind": "group", "main": True}, {"people": "all", "agents": "none"}),
    ({"kind": "group", "wake": {"agents": "mention"}}, {"people": "trigger", "agents": "mention"}),
    ({"kind": "channel", "wake": {"people": "all"}}, {"people": "all", "agents": "mention"}),
]


@pytest.mark.one_database
async def test_each_kind_of_space_has_its_own_default(office: Driver) -> None:
    bo = await cast(office)
    for number, (fields, wake) in enumerate(DEFAULTS):
        made = await office.space(f"s{number}", ["ada", "bo"], trigger="Andy", **fields)
        assert made["wake"] == wake, fields
    dm = await office.create("/spaces", {"kind": "dm", "members": ["ada", "bo"], "wake": {"people": "none"}})
    assert dm["wake"] == {"people": "all", "agents": "all"}
    changed = await office.ask("PATCH", "/spaces/s0", json={"wake": {"people": "none"}})
    assert changed["wake"] == {"people": "none", "agents": "mention"}
    # By behaviour: what a person and what an agent says, in a group, in the main one, and in a DM.
    for space in ("s1", "s2"):
        await office.post(space, "no trigger word")
        await bo.create(f"/spaces/{space}/messages", {"text": "@ada and Andy"})
    await bo.create("/spaces/dm-ada-bo/messages", {"text": "between us"})
    assert await woken(office) == {"s2": ["ada", "bo"], "dm-ada-bo": ["ada"]}


@pytest.mark.one_database
async def test_without_a_trigger_word_a_group_listens_to_mentions(office: Driver) -> None:
    await cast(office)
    await office.space("group", ["ada", "bo"], kind="group")
    await office.post("group", "anyone?")
    await office.post("group", "@ada?")
    assert await woken(office) == {"group": ["ada"]}


async def test_replying_to_an_agents_message_counts_as_mentioning_it(office: Driver) -> None:
    bo = await cast(office)
    ada = await office.as_agent("ada")
    await office.space("general", ["ada", "bo"])
    said = await ada.create("/spaces/general/messages", {"text": "an idea"})
    mine = await office.post("general", "another idea")
    await office.post("general", "not bad", replyTo=said["id"])
    await office.post("general", "mine is better", replyTo=mine["id"])
    assert await woken(office) == {"general": ["ada"]}
    await bo.create("/spaces/general/messages", {"text": "indeed", "replyTo": said["id"]})
    assert await woken(office) == {"general": ["ada", "ada"]}


@pytest.mark.one_database
async def test_an_agent_never_wakes_itself(office: Driver) -> None:
    turns = [turn("start", step(call("send_message", text="note to @ada and Andy")))]
    await office.agent("ada", turns)
    for policy in ("all", "mention", "trigger"):
        await office.space(policy, ["ada"], wake={"people": "all", "agents": policy}, trigger="Andy")
        await office.post(policy, "start")
    assert await woken(office) == {"all": ["ada"], "mention": ["ada"], "trigger": ["ada"]}


async def test_only_members_are_woken_and_only_from_when_they_joined(office: Driver) -> None:
    await cast(office)
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "@bo are you there?")
    assert await woken(office) == {"general": ["ada"]}
    await office.create("/spaces/general/members", {"memberId": "bo"})
    await office.ask("DELETE", "/spaces/general/members/ada")
    await office.post("general", "and now?")
    assert await woken(office) == {"general": ["ada", "bo"]}


async def test_edits_wake_nobody_and_posts_queue_the_agent_at_once(offices: Offices) -> None:
    office = await offices.open(drive=False)
    await cast(office)
    await office.space("general", ["ada"])
    posted = await office.post("general", "hello")
    await office.ask("PATCH", f"/messages/{posted['id']}", json={"text": "hello @ada"})
    assert await awaited(office) == set()
    assert (await office.get("/agents/ada"))["state"] == "idle"
    await office.post("general", "@ada")
    assert await awaited(office) == {("ada", "general", "@ada")}
    assert (await office.get("/agents/ada"))["state"] == "queued"
