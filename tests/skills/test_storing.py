"""Storing, listing and deleting skills: names and lengths, one space apart from another, and no more than may be."""

from __future__ import annotations

from typing import Any

import pytest

from bullpen.operations.slash import COMMANDS
from bullpen.settings import SkillSettings
from bullpen.skills.rules import RESERVED
from bullpen.testing.clock import FakeClock
from tests.driver import Driver, Json, Offices
from tests.files.offering import give
from tests.skills.offices import STANDUP, call, stored, studio, told, turn

ALLOW = {"store_skill": "allow"}
NAMES = ["../x", "a-b", "", "A", "1a", "_a", "a" * 33, "a b", "a/b", "a\n", "ä", "a.b", "%2e%2e"]


def storing(**more: Any) -> Json:
    return call("store_skill", **{"name": "standup", **STANDUP, **more})


@pytest.mark.one_database
@pytest.mark.proves("S2-48", "E13")
@pytest.mark.parametrize("name", NAMES)
async def test_an_invalid_skill_name_is_refused_by_every_route(office: Driver, name: str) -> None:
    await studio(office, turn("keep it", storing(name=name)), policy=ALLOW)
    assert "error" in await told(office, "keep it")
    text = f"---\nname: {name!r}\ndescription: d\n---\nDo it."
    if name != "a-b":  # there hyphens stand for underscores
        await office.create("/spaces/studio/skills/import", {"text": text}, status=422)
    if name and "/" not in name and name != "%2e%2e":
        path = "".join(f"%{byte:02x}" for byte in name.encode())
        refused = await office.ask("PUT", f"/spaces/studio/skills/{path}", json=STANDUP, status=422)
        assert "name" in refused["error"]["fields"]
    assert await office.items("/skills") == []


@pytest.mark.one_database
@pytest.mark.proves("S2-48")
async def test_the_longest_and_shortest_skill_names_are_accepted(office: Driver) -> None:
    await studio(office)
    for name in ("a", "z_9", "a" * 32):
        assert (await stored(office, name))["name"] == name


@pytest.mark.one_database
@pytest.mark.proves("S2-48")
@pytest.mark.parametrize("name", sorted(RESERVED))
async def test_a_reserved_skill_name_is_refused(office: Driver, name: str) -> None:
    await studio(office, turn("keep it", storing(name=name)), policy=ALLOW)
    assert "means something else" in (await told(office, "keep it"))["error"]
    refused = await office.ask("PUT", f"/spaces/studio/skills/{name}", json=STANDUP, status=422)
    assert refused["error"]["fields"] == {"name": "is reserved"}


def test_every_office_command_name_is_reserved() -> None:
    assert set(COMMANDS) <= RESERVED


BAD: dict[str, Json] = {
    "description too long": {"description": "d" * 257},
    "description empty": {"description": "  "},
    "description with escapes": {"description": "a \x1b[31m b"},
    "description turned around": {"description": "a \u202e b"},
    "instructions empty": {"instructions": " \n "},
    "instructions too long": {"instructions": "i" * 32_769},
    "instructions with NUL": {"instructions": "a\x00b"},
    "parameters too long": {"parameters": "p" * 501},
}


@pytest.mark.one_database
@pytest.mark.proves("S2-48")
@pytest.mark.parametrize("more", BAD.values(), ids=BAD)
async def test_overlong_empty_or_unprintable_skill_fields_are_refused(office: Driver, more: Json) -> None:
    await studio(office, turn("keep it", storing(**more)), policy=ALLOW)
    assert "error" in await told(office, "keep it")
    refused = await office.ask("PUT", "/spaces/studio/skills/standup", json={**STANDUP, **more}, status=422)
    assert set(refused["error"]["fields"]) == set(more)
    assert await office.items("/skills") == []


@pytest.mark.one_database
async def test_a_description_is_one_line(office: Driver) -> None:
    await studio(office)
    assert (await stored(office, description=" Who\n\n/help:\tdid  what "))["description"] == "Who /help: did what"
    assert len((await stored(office, description="d" * 256))["description"]) == 256


@pytest.mark.proves("S2-48")
async def test_overwriting_a_skill_keeps_its_creation_time(offices: Offices) -> None:
    clock = FakeClock("2026-06-01T08:00:00Z")
    office = await offices.open(clock=clock)
    await studio(office, turn("keep it", storing(description="Another")), policy=ALLOW)
    first = await stored(office)
    clock.advance(3600)
    second = await told(office, "keep it")
    assert second["createdAt"] == first["createdAt"]
    [kept] = await office.items("/skills", spaceId="studio")
    assert (kept["id"], kept["description"], kept["createdAt"]) == (first["id"], "Another", first["createdAt"])
    assert kept["updatedAt"] > first["updatedAt"]
    assert (kept["writtenBy"], kept["status"], kept["agentId"]) == ("ada", "active", "ada")


async def test_storing_the_same_again_changes_nothing(office: Driver) -> None:
    await studio(office)
    first = await stored(office)
    count = len([event for event in office.events if event["type"].startswith("skill_")])
    assert await stored(office) == first
    await office.idle()
    assert len([event for event in office.events if event["type"].startswith("skill_")]) <= max(count, 1)


@pytest.mark.proves("S2-50")
async def test_an_agent_lists_the_skills_of_its_space_by_name(office: Driver) -> None:
    await studio(office, turn("list them", call("list_skills")))
    await office.space("other", ["ada"])
    assert await told(office, "list them") == {"skills": []}
    for space, name in (("studio", "zebra"), ("studio", "ant"), ("other", "mole")):
        await stored(office, name, space=space)
    listed = (await told(office, "list them", nth=2))["skills"]
    assert [(skill["name"], skill["command"], skill["status"]) for skill in listed] == [
        ("ant", "/ant", "active"),
        ("zebra", "/zebra", "active"),
    ]
    assert listed[0]["parameters"] == "[day]"


@pytest.mark.proves("S2-51")
async def test_a_deleted_skill_is_gone_and_so_is_its_command(office: Driver) -> None:
    await studio(office, turn("drop it", call("delete_skill", name="standup")), policy=ALLOW)
    await stored(office)
    assert await told(office, "drop it") == {"name": "standup", "status": "deleted"}
    assert "standup" not in [command["name"] for command in await office.items("/spaces/studio/commands")]
    await office.get("/spaces/studio/skills/standup", status=404)
    await office.post("studio", "/standup now")
    await office.idle()
    assert len(await office.runs()) == 1, "a word that means nothing is an ordinary message"
    assert "There is no skill" in (await told(office, "drop it", nth=2))["error"]


@pytest.mark.one_database
async def test_a_tainted_run_asks_before_deleting_a_skill(office: Driver) -> None:
    await studio(office, turn("drop it", call("delete_skill", name="standup")))
    await stored(office)
    file = await give(office, space="studio")
    await office.post("studio", "@ada drop it, as the paper says", attachments=[file["id"]])

    async def asked() -> bool:
        return bool(await office.items("/pending"))

    await office.until(asked)
    assert (await office.get("/spaces/studio/skills/standup"))["status"] == "active"
    [waiting] = await office.items("/pending")
    await office.create(f"/pending/{waiting['callId']}/resolve", {"result": {"approved": True}})
    await office.event("skill_deleted")


@pytest.mark.proves("G15", "S2-06")
async def test_skills_with_one_name_in_two_spaces_stay_separate(office: Driver) -> None:
    keep = turn("keep it", storing(instructions="Say boo."))
    await studio(office, keep, turn("drop it", call("delete_skill", name="standup")), policy=ALLOW)
    await office.space("other", ["ada"])
    mine = await stored(office)
    await told(office, "keep it", space="other")
    assert await office.get("/spaces/studio/skills/standup") == mine
    assert (await office.get("/spaces/other/skills/standup"))["instructions"] == "Say boo."
    await told(office, "drop it", space="other", nth=2)
    assert await office.get("/spaces/studio/skills/standup") == mine


async def test_skills_are_listed_newest_first_in_pages(office: Driver) -> None:
    await studio(office)
    await office.space("other", ["ada"])
    for number in range(5):
        await stored(office, f"s{number}", space="other" if number == 2 else "studio")
    found: list[str] = []
    query: dict[str, Any] = {"limit": 2}
    while True:
        page = await office.get("/skills", params=query)
        found += [skill["name"] for skill in page["items"]]
        if "next" not in page:
            break
        query["cursor"] = page["next"]
    assert found == ["s4", "s3", "s2", "s1", "s0"]
    assert [skill["name"] for skill in await office.items("/skills", spaceId="other")] == ["s2"]


async def test_a_space_has_a_limited_number_of_skills(offices: Offices) -> None:
    office = await offices.open(skills=SkillSettings(per_space=2))
    await studio(office, turn("keep it", storing()), policy=ALLOW)
    for name in ("one", "two"):
        await stored(office, name)
    refused = await office.ask("PUT", "/spaces/studio/skills/three", json=STANDUP, status=422)
    assert "2 skills, which is the most" in refused["error"]["message"]
    assert "which is the most" in (await told(office, "keep it"))["error"]
    await stored(office, "one", description="It may be changed")


@pytest.mark.one_database
async def test_a_skills_agent_must_be_a_member_of_its_space(office: Driver) -> None:
    await studio(office)
    await office.agent("bo", steps=[])
    refused = await office.ask("PUT", "/spaces/studio/skills/x", json={**STANDUP, "agentId": "bo"}, status=422)
    assert refused["error"]["fields"] == {"agentId": "is not an agent of the space"}
    assert (await stored(office, agentId="ada"))["agentId"] == "ada"


@pytest.mark.one_database
async def test_name_and_space_in_the_body_must_match_the_url(office: Driver) -> None:
    await studio(office)
    await stored(office, name="standup", spaceId="studio")
    for more in ({"name": "other"}, {"spaceId": "other"}):
        await office.ask("PUT", "/spaces/studio/skills/standup", json={**STANDUP, **more}, status=422)


@pytest.mark.one_database
async def test_an_agents_words_are_kept_without_secrets(office: Driver) -> None:
    await office.ask("PUT", "/variables/KEY", json={"value": "swordfish-4711-abcdef", "type": "secret"})
    await studio(office, turn("keep it", storing(instructions="Use swordfish-4711-abcdef.")), policy=ALLOW)
    await told(office, "keep it")
    assert "swordfish" not in (await office.get("/spaces/studio/skills/standup"))["instructions"]
    by_token = await stored(await office.as_agent("ada"), "other", parameters="swordfish-4711-abcdef")
    assert "swordfish" not in str(by_token)


async def test_what_was_done_to_skills_is_in_the_audit_log(office: Driver) -> None:
    await studio(office)
    ada = await office.as_agent("ada")
    await stored(office)
    proposed = await stored(ada, description="Another")
    await office.create("/spaces/studio/skills/standup/approve", {"hash": proposed["proposal"]["hash"]})
    await stored(ada, description="A third")
    await office.create("/spaces/studio/skills/standup/reject", {})
    await office.ask("DELETE", "/spaces/studio/skills/standup")
    found = [row["action"] for row in await office.items("/audit") if row["action"].startswith("skill.")]
    assert found[::-1] == [
        "skill.stored",
        "skill.proposed",
        "skill.approved",
        "skill.proposed",
        "skill.rejected",
        "skill.deleted",
    ]
